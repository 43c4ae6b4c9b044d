// Who may import whom (docs/architecture.md). Run by check-layers.ts as part of `npm run lint`.
const { readdirSync, readFileSync } = require('node:fs')
const { join } = require('node:path')

const literal = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')

const packages = join(__dirname, '../../packages')

/** The source files behind every package's `exports`: the only files another package may reach. */
const publicFiles = readdirSync(packages).flatMap((name) => {
  const { exports } = JSON.parse(readFileSync(join(packages, name, 'package.json'), 'utf8'))
  return Object.values(exports)
    .map((entry) => entry['@meanwhile/source'])
    .filter((file) => file !== undefined)
    .map((file) => `^${literal(`packages/${name}/${file.replace('./', '')}`)}$`)
})

const tests = '\\.test(-d)?\\.ts$'
const core = 'packages/core/src'
const telemetry = `^${core}/telemetry/`

/** The layers of core, lowest first. Each imports itself and what is below it, and of `telemetry/` only its door. */
const layers = [
  ['flow'],
  ['vocabulary'],
  ['machine', 'output'],
  ['telemetry'],
  ['state'],
  ['checkpoint'],
  ['middleware'],
  ['execution'],
  // One layer in two folders: what every call does, and the work of background calls.
  ['(tool-call|background)'],
  ['model-call'],
  ['resume'],
  ['run'],
]

const centre = layers.flat()

/** What a folder of core may import of core: these folders, and itself. */
const importsOnly = (folder, folders) => ({
  name: `core-${folder}-imports-what-is-below`,
  severity: 'error',
  from: { path: `^${core}/${folder}/`, pathNot: tests },
  to: { path: `^${core}/`, pathNot: `^${core}/(${[folder, ...folders].join('|')})/` },
})

const layering = [
  ...layers.flatMap((layer, index) => layer.map((folder) => importsOnly(folder, layers.slice(0, index).flat()))),
  // An agent as a tool is made of an agent.
  {
    ...importsOnly('agent-tool', centre),
    to: { path: `^${core}/`, pathNot: `^${core}/((${['agent-tool', ...centre].join('|')})/|agent\\.ts$)` },
  },
]

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Of types neither: whoever reads a file has to know what it imports.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    ...layering,
    {
      name: 'core-imports-none-of-ours',
      severity: 'error',
      from: { path: '^packages/core/src/', pathNot: tests },
      to: { path: '^(packages|apps|examples)/', pathNot: '^packages/core/' },
    },
    {
      name: 'plug-ins-import-core-only',
      severity: 'error',
      from: {
        path: '^packages/(?!(?:core|models|eager-tools|harness|threads|durable|ui|devtools)/)([^/]+)/src/',
        pathNot: tests,
      },
      to: { path: '^(packages|apps|examples)/', pathNot: '^packages/(core|$1)/' },
    },
    {
      name: 'what-reads-or-writes-streams-also-imports-assemble',
      severity: 'error',
      from: { path: '^packages/(models|eager-tools|harness)/src/', pathNot: tests },
      to: { path: '^(packages|apps|examples)/', pathNot: '^packages/(core|assemble|$1)/' },
    },
    {
      name: 'what-has-tables-also-imports-stores',
      severity: 'error',
      from: { path: '^packages/(threads|durable)/src/', pathNot: tests },
      to: { path: '^(packages|apps|examples)/', pathNot: '^packages/(core|stores|$1)/' },
    },
    {
      name: 'devtools-import-a-decoder-and-the-makespan-only',
      comment: 'Both become part of the package. It installs without any other one.',
      severity: 'error',
      from: { path: '^packages/devtools/(src|page)/', pathNot: tests },
      to: {
        path: '^(packages|apps|examples)/',
        pathNot: '^packages/(devtools/|harness/src/otlp\\.ts$|eager-tools/src/makespan\\.ts$)',
      },
    },
    {
      name: 'the-model-and-the-geometry-of-devtools-need-no-server',
      comment: 'They run in the page, too.',
      severity: 'error',
      from: { path: '^packages/devtools/src/(model|geometry)/', pathNot: tests },
      to: { path: '^packages/devtools/src/(server|store)/|^node:' },
    },
    {
      name: 'interfaces-import-core-and-types-of-threads-only',
      severity: 'error',
      from: { path: '^packages/ui/src/', pathNot: tests },
      to: { path: '^(packages|apps|examples)/', pathNot: '^packages/(core|ui|threads)/' },
    },
    {
      name: 'threads-are-types-to-interfaces',
      severity: 'error',
      from: { path: '^packages/ui/src/', pathNot: tests },
      to: { path: '^packages/threads/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'interfaces-stand-beside-each-other',
      comment: 'What they share knows none of their protocols.',
      severity: 'error',
      from: { path: '^packages/ui/src/(ai-sdk|ag-ui)/', pathNot: tests },
      to: { path: '^packages/ui/src/(ai-sdk|ag-ui)/', pathNot: '^packages/ui/src/$1/' },
    },
    {
      name: 'turns-know-no-protocol',
      severity: 'error',
      from: { path: '^packages/ui/src/(turn/|[^/]+$)', pathNot: tests },
      to: { path: '^packages/ui/src/(ai-sdk|ag-ui)/|(^|/)node_modules/(ai|@ag-ui)/' },
    },
    {
      name: 'tests-import-core-assemble-stores-and-harness-only',
      severity: 'error',
      from: { path: `^packages/(?!ui/)([^/]+)/src/.*${tests}` },
      to: {
        path: '^(packages|apps|examples)/',
        pathNot: ['^packages/(core|assemble|stores|harness|$1)/', '^apps/postgres-cluster/', '^apps/tests/support/'],
      },
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
      from: { path: '^packages/core/src/', pathNot: tests },
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
      name: 'drop-ins-stand-beside-each-other',
      comment: 'What they share is in host/ and resilient/, which know none of the libraries that they are for.',
      severity: 'error',
      from: { path: '^packages/eager-tools/src/(host|resilient|ai-sdk|langchain|openai-agents)/', pathNot: tests },
      to: {
        path: '^packages/eager-tools/src/(ai-sdk|langchain|openai-agents)/',
        pathNot: '^packages/eager-tools/src/$1/',
      },
    },
    {
      name: 'the-shared-engines-need-no-library',
      severity: 'error',
      from: { path: '^packages/eager-tools/src/(host|resilient)/', pathNot: tests },
      to: { pathNot: '^(packages/(core|assemble|eager-tools)|node_modules/@opentelemetry/api)/' },
    },
    {
      name: 'eager-tools-needs-no-drop-in',
      severity: 'error',
      from: { path: '^packages/eager-tools/src/[^/]+[.]ts$', pathNot: tests },
      to: { path: '^packages/eager-tools/src/(host|ai-sdk|langchain|openai-agents)/' },
    },
    {
      name: 'no-undeclared-dependencies',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'no-dev-dependencies-in-sources',
      comment: 'Except those that become part of the package.',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/', pathNot: tests },
      to: {
        dependencyTypes: ['npm-dev'],
        dependencyTypesNot: ['type-only', 'npm-peer'],
        pathNot: '(^|/)node_modules/(@bufbuild/protobuf|preact)/',
      },
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
    exclude: {
      path: [
        '/dist/',
        '/fixtures/',
        '/test-data/',
        '^scripts/packages/[^/]+-app\\.mjs$',
        // Their imports are resolved where they are type-checked: where their tools are installed.
        '^scripts/packages/lint-tarballs\\.ts$',
        '^(scripts/(layers|prose)|apps/tests/(clients|deep-agents|openinference|versions)|examples/chat/page)/',
      ],
    },
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
