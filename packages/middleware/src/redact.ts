/** The middleware `redact()`: masks secrets in model requests, in model responses and in spans. */

import {
  type CaptureContent,
  ConfigError,
  checkOptions,
  type Middleware,
  messageOf,
  type ToolMessage,
} from '@meanwhile/core'
import { branded, OUTPUT_TOOL } from '@meanwhile/core/calls'
import { checkCounts, checkFunctions } from './check-options.ts'
import { maskedData } from './redact/masked-data.ts'
import { maskedError } from './redact/masked-error.ts'
import { maskedEvents } from './redact/masked-events.ts'
import { MaskedMessages } from './redact/masked-messages.ts'
import { MaskedResponse } from './redact/masked-response.ts'
import { type InnerResponse, maskedRunEvents } from './redact/masked-run-events.ts'
import { Masker, type Secret } from './redact/masker.ts'
import { type SecretPattern, secretPatterns } from './redact/secret-patterns.ts'

/** The options of `redact`. */
export interface RedactOptions {
  /** Default: {@link secretPatterns}; `[...secretPatterns, yours]` adds to them. */
  readonly patterns?: readonly SecretPattern[]
  /** Returns the mask of a secret. Default: its kind in brackets. The same secret must always get the same mask. */
  readonly replace?: (secret: Secret) => string
  /** The places to mask. Default: all three. */
  readonly on?: readonly RedactPlace[]
  /** Whether the history, including tool results, contains the masks instead of the secrets. Default `false`. */
  readonly persist?: boolean
  /**
   * How many characters of an answer may be held back because they may be part of a secret. A longer secret is not
   * masked in a streamed answer. Default 4,096.
   */
  readonly window?: number
}

/** The requests to a model, its responses, and the content that spans record. */
export type RedactPlace = 'request' | 'answer' | 'spans'

const PLACES: readonly RedactPlace[] = ['request', 'answer', 'spans']

/**
 * Masks secrets. They are never sent in a request, including side model calls. Tools get what the model wrote,
 * unmasked, so early starts remain valid. Files, and reasoning that its provider has signed, are not changed.
 *
 * @throws {ConfigError} An option is invalid; for example a pattern matches an empty text or has a backreference.
 */
export function redact(options: RedactOptions = {}): Middleware {
  checkOptions('redact', options, { patterns: '', replace: '', on: '', persist: '', window: '' })
  const { patterns = secretPatterns, replace = bracketed, on = PLACES, persist = false, window = 4_096 } = options
  checkCounts({ window })
  checkFunctions({ replace })
  if (!Array.isArray(on)) throw new ConfigError('on', `must be a list of ${PLACES.join(', ')}`)
  const unknown = on.find((place) => !PLACES.includes(place))
  if (unknown !== undefined) throw new ConfigError('on', `may contain ${PLACES.join(', ')}, not ${unknown}`)
  const masker = maskerOf(patterns, replace)
  const masked = new MaskedMessages(masker)
  const isOn = (place: RedactPlace) => on.includes(place)

  return branded('middleware', {
    name: 'redact',
    // Additions to a request must be masked, too; and held-back text must not look like a silent model.
    order: { inside: ['agents-md', 'early-stop', 'tool-search'], outside: ['timeout'] },
    aroundSideCalls: true,
    ...(isOn('spans') && {
      beforeAgent: (setup) => ({ ...setup, captureContent: maskedCapture(setup.captureContent, masker) }),
    }),
    async *wrapModel(request, next) {
      const flow = next(isOn('request') ? masked.request(request) : request)
      if (!isOn('answer')) return yield* flow
      const answerTool = request.output?.name
      return masked.answer(yield* maskedEvents(flow, new MaskedResponse(masker, window, answerTool)), answerTool)
    },
    ...(persist && {
      // These two must not throw, but `replace` may: what cannot be masked is not told.
      onWarning: (warning) => ({ ...warning, message: unless(() => masker.mask(warning.message), UNMASKED) }),
      onBackgroundResult: (message) => unless(() => masked.result(message), withoutContent(message)),
      async *wrapAgent(setup, next) {
        const response = (): InnerResponse => new MaskedResponse(masker, window, OUTPUT_TOOL)
        return yield* maskedRunEvents(next(setup), { masker, messages: masked, response })
      },
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
  })
}

const UNMASKED = 'redact: the text is left out, because `replace` has thrown'

function withoutContent({ output: _, ...message }: ToolMessage): ToolMessage {
  return { ...message, content: [{ type: 'text', text: UNMASKED }], isError: true }
}

/** Returns the other value if the work throws. */
function unless<Value>(work: () => Value, other: Value): Value {
  try {
    return work()
  } catch {
    return other
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
