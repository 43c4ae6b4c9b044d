/** What a script must be: for those whom types do not hold. */

import { checkOptions, type OptionNames } from '@meanwhile/core'
import { HarnessError } from './errors.ts'
import type { Ending } from './raw.ts'
import type { Script } from './script.ts'

const ENDINGS: Readonly<Record<Ending, true>> = {
  complete: true,
  fin: true,
  reset: true,
  'bad-chunk': true,
  stall: true,
}

/** The options of everything that serves a script. */
export const SCRIPT_OPTIONS = { script: 'responses', pace: '', slice: '' } as const

/**
 * Throws {@link HarnessError} if the options are no object, such as the list that `scriptedModel` takes, and `ConfigError` for an
 * unknown option.
 */
export function checkEndpointOptions<Options extends object>(
  owner: string,
  options: Options,
  names: OptionNames<Options>,
): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new HarnessError('the options are no object: { script: [respond(…)] }')
  checkOptions(owner, options, names)
}

/** Throws {@link HarnessError} naming the first response that is none, or breaks off in no way there is. */
export function checkScript(script: Script): void {
  if (typeof script === 'function') return
  if (!Array.isArray(script)) throw new HarnessError('the script is no list of responses: [respond(…)]')
  for (const [i, reply] of script.entries()) checkReply(`response ${i + 1} of the script`, reply)
}

function checkReply(which: string, reply: unknown): void {
  const isReply =
    typeof reply === 'object' && reply !== null && ['steps', 'recorded', 'raw'].some((member) => member in reply)
  if (!isReply) throw new HarnessError(`${which} is none: it is made by respond(…), recordedResponse or rawResponse`)
  if (!('fault' in reply) || reply.fault === undefined) return
  const end: unknown =
    typeof reply.fault === 'object' && reply.fault !== null && 'end' in reply.fault && reply.fault.end
  if (typeof end !== 'string' || !Object.hasOwn(ENDINGS, end))
    throw new HarnessError(`${which} has a fault without an end: { end } is one of ${Object.keys(ENDINGS).join(', ')}`)
}
