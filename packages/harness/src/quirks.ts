/** The catalogue of unusual streams that providers really send. Serve them to a reader and compare its result. */

import { anthropicQuirks } from './quirks/anthropic.ts'
import { anthropicHostQuirks } from './quirks/anthropic-hosts.ts'
import { chatQuirks } from './quirks/chat.ts'
import { chatGatewayQuirks } from './quirks/chat-gateways.ts'
import { chatNameQuirks } from './quirks/chat-names.ts'
import { chatPlaceQuirks } from './quirks/chat-places.ts'
import { chatShapeQuirks } from './quirks/chat-shapes.ts'
import { chatTextQuirks } from './quirks/chat-text.ts'
import { errorQuirks } from './quirks/errors.ts'
import type { Quirk } from './quirks/quirk.ts'
import { responsesQuirks } from './quirks/responses.ts'
import { responsesEndQuirks } from './quirks/responses-ends.ts'
import { responsesHostQuirks } from './quirks/responses-hosts.ts'
import { responsesOwnerQuirks } from './quirks/responses-owners.ts'
import { responsesReferenceQuirks } from './quirks/responses-references.ts'
import { restartQuirks } from './quirks/restarts.ts'
import { transportQuirks } from './quirks/transport.ts'
import type { RawResponse } from './raw.ts'

export type { Answered, DeclaredTool, ExpectedCall, Failed, Outcome, Quirk, QuirkEvent } from './quirks/quirk.ts'

/** All quirks, ordered by rows of the catalogue; each form of a row is its own entry. */
export const quirks: readonly Quirk[] = [
  ...transportQuirks,
  ...errorQuirks,
  ...restartQuirks,
  ...chatQuirks,
  ...chatTextQuirks,
  ...chatGatewayQuirks,
  ...chatNameQuirks,
  ...chatPlaceQuirks,
  ...chatShapeQuirks,
  ...anthropicQuirks,
  ...anthropicHostQuirks,
  ...responsesQuirks,
  ...responsesHostQuirks,
  ...responsesEndQuirks,
  ...responsesOwnerQuirks,
  ...responsesReferenceQuirks,
]

/**
 * Returns the quirk as a response for a script. It is cut by the given `slice`, otherwise by the quirk's, otherwise by
 * the script's.
 *
 * @example const mock = mockModels({ script: [quirkResponse(quirk, { slice: { random: 7 } })] })
 */
export function quirkResponse(
  { wire, events, slice, ending }: Quirk,
  options: Pick<RawResponse, 'pace' | 'slice'> = {},
): RawResponse {
  const raw = events.map((event) => (typeof event === 'string' ? { bytes: event } : { event }))
  return { raw: ending ? [...raw, ending] : raw, wire, ...(slice !== undefined && { slice }), ...options }
}
