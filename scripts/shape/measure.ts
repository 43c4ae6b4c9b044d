/** Measures every figure of core's shape. */

import { readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { agentKilobytes } from './bundle.ts'
import { enteredBecauseOfACall } from './entered.ts'
import { LONG, type Measured, type Shape } from './figures.ts'
import { mutableOf } from './mutable.ts'
import { programOf, sourcesIn } from './sources.ts'

const CORE = join('packages', 'core')
const SOURCES = join(CORE, 'src')

export async function measure(): Promise<Shape> {
  // Both run in separate processes while this one parses.
  const elsewhere = Promise.all([agentKilobytes(CORE), enteredBecauseOfACall()])
  const here = { ...sizes(), ...state() }
  const [agentKb, entered] = await elsewhere
  return {
    ...here,
    'agent-kb': { value: agentKb, places: [] },
    'call-files': counted([...new Set(entered.map(({ file }) => file))].sort()),
    'call-functions': counted(entered.map(({ file, name }) => `${file}: ${name}`).sort()),
  }
}

function sizes(): Pick<Shape, 'lines' | 'files' | 'long-files'> {
  const files = own().map((file) => ({ name: named(file), lines: readFileSync(file, 'utf8').split('\n').length - 1 }))
  const places = files.toSorted((a, b) => b.lines - a.lines).map(({ name, lines }) => `${name}: ${lines} lines`)
  const lines = files.reduce((sum, file) => sum + file.lines, 0)
  const long = files.filter((file) => file.lines > LONG).length
  return { lines: { value: lines, places }, files: counted(places), 'long-files': counted(places.slice(0, long)) }
}

type State = 'state' | 'state-fields' | 'state-members' | 'state-containers' | 'state-variables'

function state(): Pick<Shape, State> {
  const files = own()
  const { fields, members, containers, variables } = mutableOf(programOf(files), files, SOURCES)
  return {
    state: counted([...fields, ...members, ...containers, ...variables]),
    'state-fields': counted(fields),
    'state-members': counted(members),
    'state-containers': counted(containers),
    'state-variables': counted(variables),
  }
}

const own = (): readonly string[] => sourcesIn(SOURCES)

const counted = (places: readonly string[]): Measured => ({ value: places.length, places })

const named = (file: string): string => relative(SOURCES, file).replaceAll(sep, '/')
