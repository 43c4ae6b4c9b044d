/** The shapes that copies of the packages share, and the number of their format: a change of a shape needs another number. */

import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize, relative, sep } from 'node:path'
import ts from 'typescript'
import { sourcesIn } from './sources.ts'

/** The shapes of a format: a hash of the types that each file declares. */
export interface Format {
  readonly format: number
  readonly shapes: Readonly<Record<string, string>>
}

const FILE = 'scripts/shape/formats.json'
const BRAND = 'packages/core/src/vocabulary/brand.ts'

/** The files that declare what is behind brands: the state of a run, its actor, its calls, the configuration of an agent, and what tools are. */
const BEHIND = [
  'state/run.ts',
  'state/actor.ts',
  'state/call-entry.ts',
  'vocabulary/agent-config.ts',
  'vocabulary/brand.ts',
]

export const readFormat = (): Format => JSON.parse(readFileSync(FILE, 'utf8'))

export const writeFormat = (format: Format): void => writeFileSync(FILE, `${JSON.stringify(format, null, 2)}\n`)

/** The format of the sources as they are. */
export function currentFormat(): Format {
  const number = /format: (\d+)/.exec(readFileSync(BRAND, 'utf8'))?.[1]
  if (number === undefined) throw new Error(`${BRAND} has no format`)
  const core = BEHIND.map((file) => join('packages/core/src', file))
  return { format: Number(number), shapes: shapesOf([...core, ...filesWithBrands()], read) }
}

/** What must be done before this format is released; nothing if the shapes are as recorded. */
export function formatComplaints(recorded: Format, current: Format): readonly string[] {
  const files = new Set([...Object.keys(recorded.shapes), ...Object.keys(current.shapes)])
  const changed = [...files].filter((file) => recorded.shapes[file] !== current.shapes[file]).sort()
  if (recorded.format !== current.format) return [`${FILE} is of format ${recorded.format}: run --write`]
  if (changed.length === 0) return []
  return [
    `the shape of what copies share has changed: raise \`format\` in ${BRAND}, then run --write. In ${changed.join(', ')}`,
  ]
}

/** The hash of the types in each of these files, and in the files from which these types come. */
export function shapesOf(entries: readonly string[], source: (file: string) => string): Format['shapes'] {
  const shapes: Record<string, string> = {}
  const open = [...entries]
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (file in shapes) continue
    const { text, imports } = declared(file, source(file))
    shapes[file] = createHash('sha256').update(text).digest('hex').slice(0, 16)
    open.push(...imports)
  }
  return Object.fromEntries(Object.entries(shapes).sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** The types that a file declares, without comments, and the files from which it imports some. */
function declared(file: string, source: string): { readonly text: string; readonly imports: readonly string[] } {
  const { outputText } = ts.transpileDeclaration(source, { fileName: file, compilerOptions: { removeComments: true } })
  const { statements } = ts.createSourceFile('declared.d.ts', outputText, ts.ScriptTarget.Latest, true)
  const types = statements.filter(
    (one) => ts.isInterfaceDeclaration(one) || ts.isTypeAliasDeclaration(one) || ts.isClassDeclaration(one),
  )
  const imports = statements.flatMap((one) => {
    const from = ts.isImportDeclaration(one) && ts.isStringLiteral(one.moduleSpecifier) ? one.moduleSpecifier.text : ''
    return from.startsWith('.') ? [normalize(join(dirname(file), from))] : []
  })
  return { text: types.map((one) => one.getText().replace(/\s+/g, ' ')).join('\n'), imports }
}

/** The files of all packages that declare a class with a brand. */
function filesWithBrands(): readonly string[] {
  return sourcesIn('packages').filter(
    (file) => /^packages\/[^/]+\/src\//.test(named(file)) && read(file).includes('static override readonly brand'),
  )
}

const read = (file: string): string => readFileSync(file, 'utf8')

const named = (file: string): string => relative('.', file).replaceAll(sep, '/')
