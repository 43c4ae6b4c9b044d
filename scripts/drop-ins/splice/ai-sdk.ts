/** The replacements for functions of the AI SDK in its tests. */

import { appendFileSync } from 'node:fs'
import { type Added, listeners, pause, reads, type SpliceSettings, withMethod } from './wraps.ts'

interface Options {
  readonly tools?: Readonly<Record<string, unknown>>
  readonly model?: unknown
}

type Call = (options: Options, ...rest: readonly unknown[]) => unknown
type Constructor = new (options: Options) => object

export function wraps({ eager, resilient }: Added, settings: SpliceSettings) {
  function spliced(options: Options): Options {
    const paced = settings.paced ? withPace(options) : options
    if (resilient && typeof paced.model === 'object') {
      appendFileSync(settings.usesFile, '.')
      return withMember(paced, 'model', resilient([paced.model]))
    }
    if (!eager || !paced.tools) return paced
    return eager(paced, reads(Object.keys(paced.tools)), {
      ...listeners(settings),
      ...(settings.paced && { seals: true }),
    })
  }
  return {
    streamText:
      (plain: Call): Call =>
      (options, ...rest) =>
        plain(spliced(options), ...rest),
    generateText:
      (plain: Call): Call =>
      (options, ...rest) =>
        plain(spliced(options), ...rest),
    ToolLoopAgent: (plain: Constructor): Constructor =>
      new Proxy(plain, {
        construct: (target, [options, ...rest], newTarget) =>
          Reflect.construct(target, [spliced(options as Options), ...rest], newTarget) as object,
      }),
  }
}

/** Waits a moment between two parts of the model's stream. */
function withPace(options: Options): Options {
  const { model } = options
  if (typeof model !== 'object' || model === null) return options
  const paced = withMethod(model, 'doStream', (doStream) => async (...args) => {
    const result = (await doStream(...args)) as { readonly stream: ReadableStream<unknown> }
    const slow = new TransformStream<unknown, unknown>({
      async transform(part, controller) {
        await pause()
        controller.enqueue(part)
      },
    })
    return { ...result, stream: result.stream.pipeThrough(slow) }
  })
  return withMember(options, 'model', paced)
}

/** The same options, including hidden members, with one member changed. */
function withMember(options: Options, name: string, value: unknown): Options {
  return Object.create(Object.getPrototypeOf(options) as object, {
    ...Object.getOwnPropertyDescriptors(options),
    [name]: { value, enumerable: true, writable: true, configurable: true },
  }) as Options
}
