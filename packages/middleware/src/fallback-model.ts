/** The middleware `fallbackModel()`: calls another model when one fails. */

import {
  AgentError,
  ConfigError,
  checkOptions,
  type Message,
  type Middleware,
  type Model,
  ModelError,
  type ModelRequest,
  messageOf,
  RetriesExhaustedError,
  RunStop,
  runLocal,
  TimeoutError,
} from '@meanwhile/core'
import { branded } from '@meanwhile/core/calls'
import { checkFunctions, isModel } from './check-options.ts'
import { isContextOverflow } from './context-overflow.ts'
import { isCount, schemaOf } from './schema-of.ts'

/** The options of `fallbackModel`. */
export interface FallbackModelOptions {
  /** The models to call, in this order, when the agent's own model fails. */
  readonly models: readonly Model[]
  /**
   * Whether to continue with the next model. Default: after a `ModelError` other than HTTP 400 and 422, after one of any
   * status that says that the request is too long for the model, after `RetriesExhaustedError`, and after a model's
   * `TimeoutError`.
   */
  readonly when?: (error: unknown, at: { readonly model: Model; readonly isLast: boolean }) => boolean
  /** Changes the request for the next model; the history is not changed. */
  readonly prepare?: (request: ModelRequest, model: Model) => ModelRequest
}

/** Every model failed. `cause` is the last error. */
export class ModelsExhaustedError extends AgentError {
  static override readonly brand: string = 'ModelsExhaustedError'
  /** One per model, in the order of the calls. */
  readonly errors: readonly unknown[]

  constructor(errors: readonly unknown[]) {
    super(`all ${errors.length} models failed; the last error: ${messageOf(errors.at(-1))}`, { cause: errors.at(-1) })
    this.errors = errors
  }
}

/**
 * Calls the agent's model, then each listed one in order, until one succeeds. A `retryModel` inside makes all its
 * attempts with each model. The model that succeeded is called first in later steps of the run, also after a resume.
 * Metadata that only one provider understands is removed from requests to others. A file that such a model cannot read
 * is replaced by a sentence.
 *
 * If all fail, the run fails with {@link ModelsExhaustedError}. An error after which no other model is called, such as
 * an abort or HTTP 400, is thrown unchanged.
 */
export function fallbackModel(options: FallbackModelOptions): Middleware {
  checkOptions('fallbackModel', options, { models: 'fallbacks', when: '', prepare: '' })
  if (!Array.isArray(options?.models) || options.models.length === 0 || !options.models.every(isModel))
    throw new ConfigError('models', 'must be a list with at least one model and nothing else')
  const { models, when = mayPass, prepare } = options
  checkFunctions({ when, prepare })
  const fallbacks: readonly Model[] = [...models]
  /** 0 is the agent's own model, n is the n-th in the list. */
  const standing = runLocal({ key: 'fallback-model', schema: schemaOf(isCount), initial: 0 })
  return branded('middleware', {
    name: 'fallback-model',
    order: { outside: ['retry-model'] },
    async *wrapModel(request, next, run) {
      const all = [request.model, ...fallbacks]
      const stood = standing(run)
      const candidates = [...new Set([all[stood.value] ?? request.model, ...all])]
      const requestTo = (model: Model): ModelRequest => {
        const foreign = new Set(all.map(({ provider }) => provider).filter((provider) => provider !== model.provider))
        const asked = { ...request, model, messages: withoutMetadata(request.messages, foreign) }
        if (model === request.model) return asked
        // The user chose the files for the other model.
        const omitting = { ...asked, omitsFiles: true }
        return prepare ? prepare(omitting, model) : omitting
      }
      const errors: unknown[] = []
      let asked = requestTo(candidates[0] ?? request.model)
      for (;;) {
        try {
          const message = yield* next(asked)
          stood.value = Math.max(0, all.indexOf(asked.model))
          return message
        } catch (error) {
          if (request.signal.aborted || error instanceof RunStop) throw error
          errors.push(error)
          const following = candidates[errors.length]
          const counts =
            when(error, { model: asked.model, isLast: !following }) || (!following && isModelFailure(error))
          if (!counts) throw error
          if (!following) throw new ModelsExhaustedError(errors)
          asked = requestTo(following)
          // The error of the attempt itself, which identifies the attempt for readers.
          const cause = error instanceof RetriesExhaustedError ? error.cause : error
          yield { type: 'attempt-failed', error: cause, next: 'fallback' }
          if (request.signal.aborted) throw error
        }
      }
    },
  })
}

/** Whether the model failed and not the run. If so, another model is called. */
function isModelFailure(error: unknown): boolean {
  if (error instanceof TimeoutError) return error.retryable
  return error instanceof ModelError || error instanceof RetriesExhaustedError
}

/** Whether another model may succeed: not with a faulty request, which fails with every model, but with a long one. */
function mayPass(error: unknown): boolean {
  const isFaulty = error instanceof ModelError && (error.status === 400 || error.status === 422)
  return isModelFailure(error) && (!isFaulty || isContextOverflow(error))
}

/** The same messages without metadata that only these providers understand. */
function withoutMetadata(messages: readonly Message[], providers: ReadonlySet<string>): readonly Message[] {
  return messages.map((message) => {
    const { content } = message
    if (typeof content === 'string' || !content.some((part: Part) => namesOf(part).some((name) => providers.has(name))))
      return message
    return { ...message, content: content.map((part: Part) => withoutOwn(part, providers)) } as Message
  })
}

type Part = Exclude<Message['content'], string>[number]

function namesOf({ providerMetadata = {} }: Part): string[] {
  return Object.keys(providerMetadata)
}

function withoutOwn(part: Part, providers: ReadonlySet<string>): Part {
  const { providerMetadata, ...rest } = part
  const kept = Object.entries(providerMetadata ?? {}).filter(([name]) => !providers.has(name))
  return kept.length > 0 ? { ...rest, providerMetadata: Object.fromEntries(kept) } : rest
}
