/** The figures of core's shape: what each counts, and how it is measured. Each has a limit. */

import { readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { agentKilobytes } from './bundle.ts'
import { codeIn } from './code.ts'
import { enteredBecauseOfACall } from './entered.ts'
import { sourcesIn } from './sources.ts'

export interface Measured {
  readonly value: number
  /** What is counted, one by one, for `--list`. */
  readonly places: readonly string[]
}

export type Figure = 'agent-kb' | 'code-lines' | 'files' | 'bare-exports' | 'call-functions' | 'call-files'

export type Shape = Readonly<Record<Figure, Measured>>

export const MEANINGS: Readonly<Record<Figure, string>> = {
  'agent-kb':
    'createAgent and tool, built, bundled for browsers without @opentelemetry/api, minified and gzipped, in kB of 1,000 bytes: ' +
    'the bundler and its settings are those of check:packages.',
  'code-lines': 'The lines of core without tests that are neither blank nor only a comment.',
  files: 'The files with these lines.',
  'bare-exports': 'The exports in these files that have no docstring.',
  'call-functions':
    'The functions, methods and accessors of core with a name, and the field initializers of its classes, that a run with one ' +
    'tool call enters and a run without one does not, between the call of stream() and the end of the run. It is counted by ' +
    "V8's coverage, after a first run in the same process.",
  'call-files': 'The files with these functions.',
}

export const FIGURES = Object.keys(MEANINGS) as readonly Figure[]

const CORE = join('packages', 'core')
const SOURCES = join(CORE, 'src')

export async function measure(): Promise<Shape> {
  // Both run in separate processes while this one parses.
  const elsewhere = Promise.all([agentKilobytes(CORE), enteredBecauseOfACall()])
  const files = sourcesIn(SOURCES).map((file) => ({
    name: relative(SOURCES, file).replaceAll(sep, '/'),
    ...codeIn(readFileSync(file, 'utf8')),
  }))
  const places = files.toSorted((a, b) => b.lines - a.lines).map(({ name, lines }) => `${name}: ${lines} lines`)
  const [agentKb, entered] = await elsewhere
  return {
    'agent-kb': { value: agentKb, places: [] },
    'code-lines': { value: files.reduce((sum, { lines }) => sum + lines, 0), places },
    files: counted(places),
    'bare-exports': counted(files.flatMap(({ name, bare }) => bare.map((line) => `${name}: ${line}`))),
    'call-functions': counted(entered.map(({ file, name }) => `${file}: ${name}`).sort()),
    'call-files': counted([...new Set(entered.map(({ file }) => file))].sort()),
  }
}

const counted = (places: readonly string[]): Measured => ({ value: places.length, places })
