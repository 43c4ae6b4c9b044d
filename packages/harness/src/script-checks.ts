/** Checks scripts and options, for users without TypeScript. */

import { checkOptions, type OptionNames } from '@meanwhile/core'
import { HarnessError } from './errors.ts'
import type { Ending } from './raw.ts'
import { checkIds } from './refusing.ts'
import type { Script } from './script.ts'

const ENDINGS: Readonly<Record<Ending, true>> = {
  complete: true,
  fin: true,
  reset: true,
  'bad-chunk': true,
  stall: true,
}

/** The options of everything that serves a script. */
export const SCRIPT_OPTIONS = { script: 'responses', pace: '', slice: '', rules: '' } as const

/**
 * @throws {HarnessError} The options are not an object; for example the list that `scriptedModel` takes.
 * @throws {ConfigError} An option is unknown.
 */
export function checkEndpointOptions<Options extends object>(
  owner: string,
  options: Options,
  names: OptionNames<Options>,
): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new HarnessError('the options must be an object: { script: [respond(…)] }')
  checkOptions(owner, options, names)
}

/** @throws {HarnessError} A response is invalid; the message contains its number. */
export function checkScript(script: Script): void {
  if (typeof script === 'function') return
  if (!Array.isArray(script)) throw new HarnessError('the script must be a list of responses: [respond(…)]')
  for (const [i, reply] of script.entries()) checkReply(`response ${i + 1} of the script`, reply)
}

/** The members of a response that are checked. */
interface Unread {
  readonly rules?: unknown
  readonly except?: unknown
  readonly refused?: unknown
  readonly fault?: unknown
}

/** @throws {HarnessError} It is not a response, or it contradicts itself. */
export function checkReply(which: string, reply: unknown): void {
  const isReply =
    typeof reply === 'object' &&
    reply !== null &&
    ['steps', 'recorded', 'raw', 'refused'].some((member) => member in reply)
  if (!isReply)
    throw new HarnessError(`${which} is not a response: create it with respond(…), recordedResponse or rawResponse`)
  const { rules, except = [], refused, fault }: Unread = reply
  if (rules !== undefined && rules !== false)
    throw new HarnessError(`rules of ${which} can only be false; other values are options of the endpoint`)
  checkIds(`except of ${which}`, except)
  const expected: unknown = refused === undefined ? [] : [refused]
  checkIds(which, expected)
  for (const rule of expected) {
    if (except.includes(rule)) throw new HarnessError(`${which} expects ${rule} and excepts it`)
    if (fault !== undefined) throw new HarnessError(`${which} expects ${rule}: a refusal cannot have a fault`)
  }
  if (fault === undefined) return
  const end: unknown = typeof fault === 'object' && fault !== null && 'end' in fault && fault.end
  if (typeof end !== 'string' || !Object.hasOwn(ENDINGS, end))
    throw new HarnessError(
      `${which} has a fault without a valid end: { end } must be one of ${Object.keys(ENDINGS).join(', ')}`,
    )
}
