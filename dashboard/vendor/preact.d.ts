// The part that the pages use. Markup is made by htm, so a node needs no type of its own.
export type ComponentChild = any;
export function h(...parts: any[]): any;
export function render(node: any, into: Element): void;
export const Fragment: any;
