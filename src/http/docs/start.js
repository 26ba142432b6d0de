// Draws the description of the interface. The validator that Swagger UI would ask elsewhere is off,
// and a key that is typed in is forgotten with the page.
window.ui = SwaggerUIBundle({
  url: '/api/v1/openapi.json',
  dom_id: '#pages',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  docExpansion: 'list',
  filter: true,
  persistAuthorization: false,
  validatorUrl: null,
});
