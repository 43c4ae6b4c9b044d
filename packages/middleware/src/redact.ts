/** Masks secrets: in what a model is sent, in what it says, and in what spans record. */

import { type CaptureContent, ConfigError, checkOptions, type Middleware, messageOf } from '@meanwhile/core'
import { checkCounts } from './check-options.ts'
import { maskedData } from './redact/masked-data.ts'
import { maskedError } from './redact/masked-error.ts'
import { maskedEvents } from './redact/masked-events.ts'
import { MaskedMessages } from './redact/masked-messages.ts'
import { Masker, type Secret } from './redact/masker.ts'
import { type SecretPattern, secretPatterns } from './redact/secret-patterns.ts'

export interface RedactOptions {
  /** Default: {@link secretPatterns}; `[...secretPatterns, yours]` adds to them. */
  readonly patterns?: readonly SecretPattern[]
  /** The mask of a secret. Default: its kind in brackets. The same secret must get the same mask. */
  readonly replace?: (secret: Secret) => string
  /** Where. Default: all three. */
  readonly on?: readonly RedactPlace[]
  /** Whether the history holds the masks, too, tool results included, and not the secrets. Default `false`. */
  readonly persist?: boolean
  /** Characters of an answer that may be held back because a secret may be open in them. Default 4,096. */
  readonly window?: number
}

/** What a model is sent, what it says, what spans record if they record content. */
export type RedactPlace = 'request' | 'answer' | 'spans'

const PLACES: readonly RedactPlace[] = ['request', 'answer', 'spans']

/**
 * A secret never leaves in a request, model calls on the side included; the tools get what the model wrote, unmasked, so that
 * nothing that has started early is in vain. Files, and reasoning that its provider has signed, are left as they are.
 *
 * @throws {ConfigError} An option cannot work: what is no pattern, or one that matches an empty text or has a backreference.
 */
export function redact(options: RedactOptions = {}): Middleware {
  checkOptions('redact', options, { patterns: '', replace: '', on: '', persist: '', window: '' })
  const { patterns = secretPatterns, replace = bracketed, on = PLACES, persist = false, window = 4_096 } = options
  checkCounts({ window })
  const unknown = on.find((place) => !PLACES.includes(place))
  if (unknown !== undefined) throw new ConfigError('on', `must be of ${PLACES.join(', ')}, not ${unknown}`)
  const masker = maskerOf(patterns, replace)
  const masked = new MaskedMessages(masker)
  const isOn = (place: RedactPlace) => on.includes(place)

  return {
    name: 'redact',
    // What adds to a request does so before it is masked; held text must not look like a model that has stopped.
    order: { inside: ['agents-md', 'early-stop', 'tool-search'], outside: ['timeout'] },
    aroundSideCalls: true,
    ...(isOn('spans') && {
      beforeAgent: (setup) => ({ ...setup, captureContent: maskedCapture(setup.captureContent, masker) }),
    }),
    async *wrapModel(request, next) {
      const flow = next(isOn('request') ? masked.request(request) : request)
      if (!isOn('answer')) return yield* flow
      return masked.answer(yield* maskedEvents(flow, masker, window))
    },
    ...(persist && {
      beforeModel(state) {
        const messages = masked.history(state.messages)
        return messages === state.messages ? undefined : { ...state, messages }
      },
      ignoresInput: true,
      async *wrapToolCall(call, next) {
        try {
          return masked.result(yield* next(call))
        } catch (error) {
          throw maskedError(masker, error)
        }
      },
    }),
  }
}

function bracketed({ kind }: Secret): string {
  return `[${kind}]`
}

function maskerOf(patterns: readonly SecretPattern[], replace: (secret: Secret) => string): Masker {
  try {
    return new Masker(patterns, replace)
  } catch (cause) {
    throw Object.assign(new ConfigError('patterns', messageOf(cause)), { cause })
  }
}

function maskedCapture(capture: CaptureContent, masker: Masker): CaptureContent {
  if (capture === false) return capture
  return (attribute, value) => maskedData(masker, capture === true ? value : capture(attribute, value))
}
