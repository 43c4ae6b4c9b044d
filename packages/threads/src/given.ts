/** What callers give: it is checked and copied before anything is done with it. */

import { ConfigError, InputError, type UserMessage } from '@meanwhile/core'
import { ThreadIdError } from './thread-errors.ts'
import type { WhenAsking, WhenBusy } from './user-decisions.ts'

/** Throws {@link ThreadIdError}. `thread`: the thread that a message or turn is of. */
export function checkId(id: unknown, what: ThreadIdError['what'], thread?: string): void {
  if (typeof id !== 'string' || id === '' || id.length > 1_024) throw new ThreadIdError(id, what, thread)
}

/** What happens to a message that comes while a turn is active. */
export interface Manners {
  readonly whenBusy: WhenBusy
  readonly whenAsking: WhenAsking
}

const CHOICES = {
  whenBusy: ['queue', 'steer', 'preempt', 'reject'],
  whenAsking: ['close', 'reject'],
} satisfies { readonly [Option in keyof Manners]: readonly Manners[Option][] }

/** Throws `ConfigError`. */
export function checkedManners(manners: Manners): Manners {
  for (const option of ['whenBusy', 'whenAsking'] as const) {
    const choices: readonly string[] = CHOICES[option]
    if (!choices.includes(manners[option])) throw new ConfigError(option, `must be ${choices.join(' or ')}`)
  }
  return manners
}

/** A copy of the message. Throws `InputError` if it is no user message, or empty. */
export function checkedMessage(given: string | UserMessage): UserMessage {
  const message: UserMessage = typeof given === 'string' ? { role: 'user', content: given } : given
  const isUser = typeof message === 'object' && message !== null && message.role === 'user'
  const { content } = Object(message)
  if (!isUser || !(typeof content === 'string' || Array.isArray(content)))
    throw new InputError('message', 'malformed', undefined, given)
  if (content.length === 0) throw new InputError('message', 'empty')
  return asJson(message, 'message')
}

/** A copy. Throws a `TypeError` if it is not JSON. */
export function asJson<Value>(value: Value, what: string): Value {
  const text = JSON.stringify(value, (_, member: unknown) => {
    const isNone = ['function', 'symbol', 'bigint'].includes(typeof member)
    if (isNone || (typeof member === 'number' && !Number.isFinite(member))) throw new TypeError(`${what} must be JSON`)
    return member
  })
  if (text === undefined) throw new TypeError(`${what} must be JSON`)
  return JSON.parse(text)
}
