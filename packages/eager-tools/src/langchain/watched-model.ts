/** Wraps a chat model so that its requests with tools are observed. The tools are known from `bindTools`. */

import type { BaseCallbackHandler } from '@langchain/core/callbacks/base'
import { mergeConfigs, RunnableBinding } from '@langchain/core/runnables'
import type { ChatModel, NodeConfig } from './library.ts'
import { over } from './over.ts'
import { modelsInside } from './resilient/inside.ts'

export interface Request {
  readonly model: ChatModel
  readonly tools: readonly unknown[]
  readonly messages: unknown
  readonly config: NodeConfig
  /** How long the model may be silent before it is asked again for the same response, in milliseconds. */
  readonly silence: number | undefined
}

export interface WatchedRequest {
  /** Receives the streamed events. */
  readonly handler: BaseCallbackHandler
  /** Called with the message that the agent receives. */
  answered(message: unknown): void
  failed(): void
}

/** Returns `undefined` for a request that need not be observed. */
export type Watch = (request: Request) => WatchedRequest | undefined

/** `bound` is called when the model gets its tools. */
export function watchedModel(model: ChatModel, watch: Watch, bound: () => void): ChatModel {
  if (isBinding(model)) return withBound(model, watchedModel(model.bound, watch, bound))
  const { bindTools, withConfig } = model
  return over(model, {
    ...(bindTools && {
      bindTools(tools, ...options) {
        bound()
        return watchedRequests(bindTools.call(model, tools, ...options), (request) => watch({ ...request, tools }))
      },
    }),
    ...(withConfig && { withConfig: (config) => watchedModel(withConfig.call(model, config), watch, bound) }),
  })
}

/**
 * In a binding, the inner model is wrapped, because an agent may create another binding of it. With `resilient()` each
 * attempt is observed.
 */
function watchedRequests(
  model: ChatModel,
  watch: (request: Omit<Request, 'tools'>) => WatchedRequest | undefined,
): ChatModel {
  if (isBinding(model)) return withBound(model, watchedRequests(model.bound, watch))
  const inside = modelsInside(model)
  return over(model, {
    async invoke(messages, config) {
      let request: WatchedRequest | undefined
      const observe = (asked: ChatModel) => {
        request = config && watch({ model: asked, messages, config, silence: inside?.silence })
        return request
      }
      try {
        const message = await (inside
          ? inside.observedBy(observe).invoke(messages, config)
          : model.invoke(messages, withHandler(config, observe(model)?.handler)))
        request?.answered(message)
        return message
      } catch (error) {
        request?.failed()
        throw error
      }
    },
  })
}

function withHandler(config: NodeConfig | undefined, handler: BaseCallbackHandler | undefined): NodeConfig | undefined {
  return handler ? mergeConfigs(config, { callbacks: [handler] }) : config
}

/** A model with its own config. */
interface Binding extends ChatModel {
  readonly bound: ChatModel
}

function isBinding(model: ChatModel): model is Binding {
  return RunnableBinding.isRunnableBinding(model)
}

/** The methods of the binding run on this proxy, so that they find the wrapped model in it. */
function withBound(binding: Binding, bound: ChatModel): Binding {
  return new Proxy(binding, { get: (of, key) => (key === 'bound' ? bound : Reflect.get(of, key)) })
}
