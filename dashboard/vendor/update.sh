#!/bin/sh
# Fetches the libraries of README.md from npm at the versions named here and writes them beside this script.
# A browser without an import map cannot find "preact" by name, and an import map would need an inline script, which the
# policy of the pages refuses: so the names in import statements become relative paths. Nothing else is changed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --save-exact preact@11.2.0 htm@3.1.1 @preact/signals@2.11.4 @preact/signals-core@1.14.5 \
  uplot@1.6.32 >/dev/null
modules=node_modules
relative() {
  sed -e 's#from"preact/hooks"#from"./preact-hooks.js"#g' -e 's#from"preact"#from"./preact.js"#g' \
    -e 's#from"@preact/signals-core"#from"./signals-core.js"#g' -e '/^\/\/# sourceMappingURL/d' "$1" >"$here/$2"
}
relative $modules/preact/dist/preact.mjs preact.js
relative $modules/preact/hooks/dist/hooks.mjs preact-hooks.js
relative $modules/@preact/signals-core/dist/signals-core.mjs signals-core.js
relative $modules/@preact/signals/dist/signals.mjs signals.js
relative $modules/htm/dist/htm.mjs htm.js
# uPlot ships no minified module: its minified script, with an export after it.
{ cat $modules/uplot/dist/uPlot.iife.min.js; echo "export default uPlot;"; } >"$here/uplot.js"
cp $modules/uplot/dist/uPlot.min.css "$here/uplot.css"
cp $modules/uplot/dist/uPlot.d.ts "$here/uplot.d.ts"
for name in preact htm uplot; do cp $modules/$name/LICENSE "$here/LICENSE-$name"; done
cp $modules/@preact/signals/LICENSE "$here/LICENSE-signals" 2>/dev/null || true
