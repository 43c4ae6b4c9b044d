/** Type-checks the declarations as a user's compiler reads them: strictly, and the newest compiler with the declarations that they import. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { output, refusal } from './step.ts'

/** The two kinds of projects: one for Node with its types, and one for a bundler with the types of a browser only. */
const READINGS = {
  nodenext: { module: 'nodenext', moduleResolution: 'nodenext', lib: ['es2023'], types: ['node'] },
  bundler: { module: 'esnext', moduleResolution: 'bundler', lib: ['es2023', 'dom', 'dom.iterable'], types: [] },
}

/** Packages whose declarations need the types of a browser: the harness's declarations use msw's. */
const NEEDS_DOM = /^@meanwhile\/harness(\/|$)/

/** Entries whose declarations need Node's types. */
const NEEDS_NODE = ['@meanwhile/mcp', '@meanwhile/middleware/directory', '@meanwhile/stores/sqlite']

/** Entries for libraries whose own declarations have type errors, or need the types of a browser or of `pg`: here TypeScript skips libraries. */
const NEEDS_SKIP = [
  '@meanwhile/durable/dbos',
  '@meanwhile/durable/pg-boss',
  '@meanwhile/eager-tools/ai-sdk',
  '@meanwhile/eager-tools/langchain',
  '@meanwhile/eager-tools/openai-agents',
  '@meanwhile/ui/ai-sdk',
  '@meanwhile/ui/thread-transport',
]

/** A compiler, and the kinds of projects that it reads. */
export interface Compiler {
  readonly version: string
  /** The arguments of Node that check a project, whose file comes last. */
  readonly check: readonly string[]
  readonly readings: readonly (keyof typeof READINGS)[]
}

/** The settings of a project of this kind with what the declarations of entries need. */
function settingsOf(entries: readonly string[], reading: keyof typeof READINGS) {
  const needs = (what: (entry: string) => boolean) => entries.some(what)
  return {
    ...READINGS[reading],
    ...(needs((entry) => NEEDS_DOM.test(entry)) && { lib: READINGS.bundler.lib }),
    ...(needs((entry) => NEEDS_NODE.includes(entry)) && { types: READINGS.nodenext.types }),
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: needs((entry) => NEEDS_SKIP.includes(entry)),
    target: 'es2022',
    noEmit: true,
  }
}

/** The entries in groups that the compiler can read with the same settings: each takes it as long as all. */
export function alike(entries: readonly string[], { readings }: Compiler): readonly (readonly string[])[] {
  const groups = new Map<string, string[]>()
  for (const entry of entries) {
    const settings = JSON.stringify(readings.map((reading) => settingsOf([entry], reading)))
    groups.set(settings, [...(groups.get(settings) ?? []), entry])
  }
  return [...groups.values()]
}

export async function checkTypes(
  entries: readonly string[],
  { check, readings }: Compiler,
  folder: string,
): Promise<void> {
  const imports = entries.map((entry, n) => `import * as entry${n} from '${entry}'`)
  const uses = entries.map((_, n) => `entry${n}`).join(', ')
  await writeFile(join(folder, 'consumer.ts'), `${imports.join('\n')}\nexport default [${uses}]\n`)
  for (const reading of readings) {
    const compilerOptions = settingsOf(entries, reading)
    const file = `tsconfig.${reading}.json`
    await writeFile(join(folder, file), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }))
    await output(process.execPath, [...check, file], folder)
  }
  if (entries.includes('@meanwhile/core')) await checkSlips(check, folder)
}

/** Mistakes in a tool, and the compiler error that each must cause: the error names the fix. */
const SLIPS = [
  ['inputSchema: input', 'write input'],
  ["input, effect: 'write'", '"idempotent" |'],
  ["input, effect: 'reversible'", "Property 'compensate' is missing"],
] as const

async function checkSlips(check: readonly string[], folder: string): Promise<void> {
  const head =
    "import { type ToolSchema, tool } from '@meanwhile/core'\ndeclare const input: ToolSchema<{ city: string }>\n"
  const slips = SLIPS.map(([slip]) => `tool({ name: 'a', description: 'b', ${slip}, execute: () => 'c' })\n`)
  await writeFile(join(folder, 'slips.ts'), head + slips.join(''))
  const compilerOptions = { ...READINGS.nodenext, strict: true, target: 'es2022', noEmit: true, types: [] }
  await writeFile(join(folder, 'tsconfig.slips.json'), JSON.stringify({ compilerOptions, files: ['slips.ts'] }))
  const said = await refusal(process.execPath, [...check, 'tsconfig.slips.json'], folder)
  const untold = SLIPS.filter(([, hint]) => !said.includes(hint))
  if (untold.length > 0) throw new Error(`missing errors: ${untold.join('; ')}\n${said}`)
}
