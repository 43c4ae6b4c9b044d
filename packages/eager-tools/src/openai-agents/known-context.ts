/** What an early call can read about its run: not what exists only when the response has ended. */

import { AsyncLocalStorage } from 'node:async_hooks'
import type { FunctionCallItem, RunContext, Usage } from '@openai/agents'

/** Notes that the early call which is executing has read something that it cannot know yet. */
type Decline = (member: string) => void

const early = new AsyncLocalStorage<Decline>()

/** In `work`, and in all that it calls, reading what is not known yet calls `decline`. */
export function declining<Result>(decline: Decline, work: () => Result): Result {
  return early.run(decline, work)
}

/** A tool that reads the usage of its run reads that of the response, too. The context keeps its identity. */
export function watchUsage(context: RunContext<unknown>): void {
  const descriptor = Object.getOwnPropertyDescriptor(context, 'usage')
  if (!descriptor?.configurable || descriptor.get) return
  let { usage } = context
  let readable = watched(usage)
  Object.defineProperty(context, 'usage', {
    configurable: true,
    enumerable: true,
    get() {
      return early.getStore() ? readable : usage
    },
    set(value: typeof usage) {
      usage = value
      readable = watched(value)
    },
  })
}

/**
 * The same usage, of which only a read declines: a run inside a tool adds its own usage to it. No proxy, because its
 * members could be cloned or printed unnoticed.
 */
function watched(usage: Usage): Usage {
  const told = () => {
    early.getStore()?.('usage of the run context')
    return usage
  }
  const seen: Usage = Object.create(Object.getPrototypeOf(usage), {
    add: { value: usage.add.bind(usage) },
    [Symbol.for('nodejs.util.inspect.custom')]: { value: told },
  })
  for (const key of Object.keys(usage))
    Object.defineProperty(seen, key, {
      enumerable: true,
      get: () => Reflect.get(told(), key),
      set(value) {
        Reflect.set(usage, key, value)
      },
    })
  return seen
}

/** The call as far as it is known. The SDK takes its other members from the whole response. */
export function knownCall(known: FunctionCallItem, decline: Decline): FunctionCallItem {
  const tell = (key: PropertyKey) => {
    if (typeof key === 'string' && !(key in known) && !UNASKED.has(key)) decline(`toolCall.${key} of its details`)
  }
  return new Proxy(known, {
    get(target, key) {
      tell(key)
      return Reflect.get(target, key)
    },
    has(target, key) {
      tell(key)
      return Reflect.has(target, key)
    },
    ownKeys(target) {
      decline('all members of toolCall of its details')
      return Reflect.ownKeys(target)
    },
  })
}

/** Members that JavaScript itself looks for. */
const UNASKED: ReadonlySet<string> = new Set(['then', 'toJSON'])
