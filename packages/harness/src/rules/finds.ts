/** Finds the places of a request that a rule refuses. */

import type { Call, DeclaredSchema, Entry, Part, Reading, Result, Tool } from './reading.ts'
import type { Find, Wrong } from './rule.ts'

/** Finds the items of a list that are wrong. */
export function each<Item extends { readonly path: string }>(
  of: (request: Reading) => readonly Item[],
  wrong: (item: Item, request: Reading) => Wrong,
  suffix: string = '',
): Find {
  return function* (request) {
    for (const item of of(request)) {
      const how = wrong(item, request)
      if (how) yield { path: item.path + suffix, ...(how === true ? {} : how) }
    }
  }
}

/** Finds a member of the body that is present and wrong. */
export function member(name: string, wrong: (value: unknown, request: Reading) => Wrong = () => true): Find {
  return function* (request) {
    const value = request.body[name]
    if (value === undefined) return
    const how = wrong(value, request)
    if (how) yield { path: name, value, ...(how === true ? {} : how) }
  }
}

/** Finds a fault of the whole request. */
export function whole(path: string, wrong: (request: Reading) => Wrong): Find {
  return function* (request) {
    const how = wrong(request)
    if (how) yield { path, ...(how === true ? {} : how) }
  }
}

/** What {@link each} looks at. */
export const entriesOf = ({ entries }: Reading): readonly Entry[] => entries
export const lastOf = ({ entries }: Reading): readonly Entry[] => entries.slice(-1)
export const partsOf = ({ parts }: Reading): readonly Part[] => parts
export const callsOf = ({ calls }: Reading): readonly Call[] => calls
export const resultsOf = ({ results }: Reading): readonly Result[] => results
export const toolsOf = ({ tools }: Reading): readonly Tool[] => tools
export const functionsOf = ({ schemas }: Reading): readonly DeclaredSchema[] =>
  schemas.filter(({ what }) => what === 'function')
