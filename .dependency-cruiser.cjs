// Who may import whom (docs/architecture.md). Run by scripts/check-layers.ts as part of `npm run lint`.
const { readdirSync, readFileSync } = require('node:fs')
const { join } = require('node:path')

const literal = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')

/** The source files behind every package's `exports`: the only files another package may reach. */
const publicFiles = readdirSync(join(__dirname, 'packages')).flatMap((name) => {
  const { exports } = JSON.parse(readFileSync(join(__dirname, 'packages', name, 'package.json'), 'utf8'))
  return Object.values(exports)
    .map((entry) => entry['@meanwhile/source'])
    .filter((file) => file !== undefined)
    .map((file) => `^${literal(`packages/${name}/${file.replace('./', '')}`)}$`)
})

const tests = '\\.test(-d)?\\.ts$'
const telemetry = '^packages/core/src/telemetry/'

/** What stands beside the centre of core: a folder each (docs/decisions/0051-beside-the-centre.md). */
const capabilities = '^packages/core/src/(background|checkpoint|needs|output)/'
/** What users import. */
const doors =
  '^packages/core/src/(agent|agent-tool|calls|config|index|testing|execution/run-tool|run/nested-run)\\.ts$|^packages/core/src/(stores|testing)/'

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment:
        'Cycles of types alone are free: they are gone at run time, and between packages the rules below forbid them.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'core-imports-none-of-ours',
      severity: 'error',
      from: { path: '^packages/core/src/', pathNot: tests },
      to: { path: '^(packages|apps|examples)/', pathNot: '^packages/core/' },
    },
    {
      name: 'plug-ins-import-core-only',
      severity: 'error',
      from: { path: '^packages/(?!core/)([^/]+)/src/', pathNot: tests },
      to: { path: '^(packages|apps|examples)/', pathNot: '^packages/(core|$1)/' },
    },
    {
      name: 'tests-import-core-and-harness-only',
      severity: 'error',
      from: { path: `^packages/([^/]+)/src/.*${tests}` },
      to: { path: '^(packages|apps|examples)/', pathNot: '^packages/(core|harness|$1)/' },
    },
    {
      name: 'no-deep-imports',
      comment: 'Another package is reached through its exports, never through a file of its.',
      severity: 'error',
      from: { path: '^([^/]+/[^/]+)/' },
      to: { path: '^packages/', pathNot: ['^$1/', ...publicFiles] },
    },
    {
      name: 'no-relative-imports-across-packages',
      severity: 'error',
      from: { path: '^([^/]+/[^/]+)/' },
      to: { path: '^packages/', pathNot: '^$1/', dependencyTypes: ['local'], dependencyTypesNot: ['aliased'] },
    },
    {
      name: 'core-runs-on-opentelemetry-api-alone',
      comment: 'At run time core imports nothing else, so that it is light and bundles for the browser.',
      severity: 'error',
      from: { path: '^packages/core/src/', pathNot: [tests, '^packages/core/src/stores/'] },
      to: {
        pathNot: ['^packages/', '(^|/)node_modules/@opentelemetry/api/'],
        dependencyTypesNot: ['type-only'],
        couldNotResolve: false,
      },
    },
    {
      name: 'telemetry-has-one-door',
      comment:
        'Core says in plain data what it does. Beside that door only the options that users give, and names as types.',
      severity: 'error',
      from: { path: '^packages/core/src/', pathNot: [tests, telemetry] },
      to: { path: telemetry, pathNot: `${telemetry}(around|options|semconv)\\.ts$` },
    },
    {
      name: 'names-of-telemetry-are-types-elsewhere',
      severity: 'error',
      from: { path: '^packages/core/src/', pathNot: [tests, telemetry] },
      to: { path: `${telemetry}semconv\\.ts$`, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'telemetry-knows-no-run',
      comment: 'What it is told of has a shape of its own.',
      severity: 'error',
      from: { path: telemetry, pathNot: tests },
      to: { path: '^packages/core/src/(run|hooks|model-call|tool-call|execution|checkpoint|slots|needs)/' },
    },
    {
      name: 'the-centre-imports-no-capability',
      comment:
        'It knows their shapes (run/capabilities.ts): agent.ts registers them. Nor does it import what users import.',
      severity: 'error',
      from: { path: '^packages/core/src/', pathNot: [tests, capabilities, doors] },
      to: { path: [capabilities, doors] },
    },
    {
      name: 'a-capability-imports-the-centre-only',
      severity: 'error',
      from: { path: capabilities, pathNot: tests },
      to: { path: [capabilities, doors], pathNot: '^packages/core/src/$1/' },
    },
    {
      name: 'stores-are-doors-of-their-own',
      comment: 'They need Node, which the other doors of core do not.',
      severity: 'error',
      from: { path: '^packages/core/src/', pathNot: [tests, '^packages/core/src/stores/'] },
      to: { path: '^packages/core/src/stores/' },
    },
    {
      name: 'the-machine-imports-words-only',
      comment: 'What it decides by is plain data: of the rest of core it knows the vocabulary at the top.',
      severity: 'error',
      from: { path: '^packages/core/src/machine/', pathNot: tests },
      to: {
        pathNot: ['^packages/core/src/machine/', '^packages/core/src/(?!agent|calls|config|index|testing)[^/]+\\.ts$'],
      },
    },
    {
      name: 'no-undeclared-dependencies',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'no-dev-dependencies-in-sources',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/', pathNot: tests },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only', 'npm-peer'] },
    },
    {
      name: 'no-unresolvable-imports',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'sources-do-not-import-tests',
      severity: 'error',
      from: { pathNot: tests },
      to: { path: tests },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', '/dist/'] },
    exclude: { path: ['/dist/', '/fixtures/', '/test-data/', '^scripts/packages/[^/]+-app\\.mjs$'] },
    tsPreCompilationDeps: true,
    combinedDependencies: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@meanwhile/source', 'import', 'node', 'default', 'types'],
      extensions: ['.ts', '.mjs', '.js', '.json'],
    },
  },
}
