/** The two calls that most quirks of OpenAI Responses are about, as OpenAI's own API sends them. */

import type { Answered } from './quirk.ts'
import { type CallEvents, call } from './responses-events.ts'

export const wire = 'openai-responses'

export const f: { readonly id: string; readonly name: string } = { id: 'call_a', name: 'f' }
export const g: { readonly id: string; readonly name: string } = { id: 'call_b', name: 'g' }

export const whole: CallEvents = call(0, f.id, f.name, 'fc_1')
export const second: CallEvents = call(1, g.id, g.name, 'fc_2')

/** The result of only the first call. */
export const called: Answered = { calls: [{ ...f, input: { x: 1 } }], finishReason: 'tool-calls' }

/** The result of both. */
export const calledBoth: Answered = {
  calls: [
    { ...f, input: { x: 1 } },
    { ...g, input: { y: 2 } },
  ],
  finishReason: 'tool-calls',
}

/** All events of a call. */
export function said({ added, delta, done, itemDone }: CallEvents, text: string): readonly object[] {
  return [added, delta(text), done(text), itemDone(text)]
}
