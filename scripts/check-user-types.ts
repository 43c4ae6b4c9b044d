// Compiles the type tests of all packages, the examples (with all code blocks of the pages) and the commonest mistakes as users do: with the
// oldest and the newest TypeScript and settings of their projects. With --all every combination of these settings, and TypeScript 6.
import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import { failures, step } from './packages/step.ts'
import { COMPILERS, type Version } from './user-types/compilers.ts'
import { checkMistakes, mistakesFile } from './user-types/mistakes.ts'
import { compiled, type Settings } from './user-types/project.ts'

const found = (pattern: string) =>
  globSync(pattern, { exclude: ['**/node_modules/**', 'examples/chat/**'] }).map((file) => resolve(file))

const TYPE_TESTS = found('packages/*/src/**/*.test-d.ts')
/** They use Node. */
const EXAMPLES = found('examples/**/*.ts')

const SOME: readonly Settings[] = [
  { version: '5.9.3', strict: 'strict', resolution: 'nodenext', types: 'node' },
  { version: '7.0.2', strict: 'exact', resolution: 'bundler', types: 'both' },
  { version: '7.0.2', strict: 'strict', resolution: 'bundler', types: 'dom' },
]

const VERSIONS = Object.keys(COMPILERS) as Version[]

const ALL: readonly Settings[] = VERSIONS.flatMap((version) =>
  (['strict', 'exact'] as const).flatMap((strict) =>
    (['nodenext', 'bundler'] as const).flatMap((resolution) =>
      (['node', 'dom', 'both'] as const).map((types) => ({ version, strict, resolution, types })),
    ),
  ),
)

/** What a compilation says about the type tests and examples, which must compile. */
function checkRight(output: string): void {
  // The sources themselves are compiled with the settings of this repository only: users compile against their declarations.
  const errors = output.split('\n').filter((line) => /^\S*(\.test-d\.ts|examples\/\S+)\(\d+,\d+\): error/.test(line))
  if (errors.length > 0) throw new Error(errors.join('\n'))
  if (/^error/m.test(output)) throw new Error(output)
}

const mistakes = await mistakesFile()
for (const settings of process.argv.includes('--all') ? ALL : SOME) {
  const files = settings.types === 'dom' ? TYPE_TESTS : [...TYPE_TESTS, ...EXAMPLES]
  const named = Object.values(settings).join(', ')
  // Both in one compilation, because most of its time goes into the sources and libraries.
  const output = await compiled(settings, [...files, mistakes])
  await step(`types: ${named}`, () => checkRight(output))
  await step(`mistakes: ${named}`, () => checkMistakes(output, mistakes))
}
if (failures.length > 0) process.exitCode = 1
