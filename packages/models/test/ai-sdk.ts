/** Hand-made models of each version of the AI SDK, for the tests of their adapter. */

import { type AiSdkModel, aiSdk } from '../src/ai-sdk.ts'
import { type Asked, ask } from './ask.ts'

export const VERSIONS = ['v2', 'v3', 'v4'] as const

type VersionName = (typeof VERSIONS)[number]
type Options = Parameters<AiSdkModel['doStream']>[0]
type Part = Awaited<ReturnType<AiSdkModel['doStream']>>['stream'] extends ReadableStream<infer P> ? P : never

interface HandMade extends Partial<Pick<AiSdkModel, 'provider' | 'supportedUrls'>> {
  /** What its package throws before it sends the request; default: nothing. */
  readonly refuse?: (options: Options) => void
}

/** A model that responds with these parts, and the requests it received. */
export function handMade(
  specificationVersion: VersionName,
  parts: readonly Part[],
  { provider = 'openai.responses', supportedUrls = {}, refuse }: HandMade = {},
): { readonly model: AiSdkModel; readonly asked: Options[] } {
  const asked: Options[] = []
  const model: AiSdkModel = {
    specificationVersion,
    provider,
    modelId: 'm',
    supportedUrls,
    async doStream(options: Options) {
      refuse?.(options)
      asked.push(options)
      return { stream: ReadableStream.from(parts) }
    },
  }
  return { model, asked }
}

/** The events and the message for these parts. */
export function readParts(parts: readonly Part[], version: VersionName = 'v4'): Promise<Asked> {
  return ask(aiSdk(handMade(version, parts).model))
}

/** The same, but not a plain object, as the models of the AI SDK's own providers: its raw chunks are read, too. */
export function chunked(provider: string, parts: readonly object[]): ReturnType<typeof handMade> {
  const { model, asked } = handMade('v4', parts as readonly Part[], { provider })
  return { model: Object.assign(Object.create({}), model), asked }
}

/** A chunk as the provider received it. */
export function raw(rawValue: unknown): object {
  return { type: 'raw', rawValue }
}
