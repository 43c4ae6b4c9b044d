/** Builds a whole response, as `doGenerate` returns it, from the stream of `doStream`. */

import { providerError } from './provider-error.ts'
import type { StreamedAnswer, StreamPart } from './sdk.ts'

interface TextItem {
  readonly type: string
  text: string
  providerMetadata?: object
}

/**
 * @throws The error of an `error` part, as `streamText` reports it; an `Error` if the stream ends without a finish
 * part.
 */
export async function collected({ stream, request, response }: StreamedAnswer): Promise<object> {
  const content: object[] = []
  const open = new Map<string, TextItem>()
  let warnings: readonly unknown[] = []
  let metadata: object = {}
  let end: StreamPart | undefined
  for await (const part of stream) {
    const { type, id, delta = '', providerMetadata } = part
    switch (type) {
      case 'stream-start':
        warnings = part.warnings ?? []
        break
      case 'response-metadata': {
        const { type: _, ...rest } = part
        metadata = { ...metadata, ...rest }
        break
      }
      case 'text-start':
      case 'reasoning-start': {
        const item: TextItem = { type: type.slice(0, -'-start'.length), text: '' }
        if (providerMetadata) item.providerMetadata = providerMetadata
        open.set(`${item.type} ${id}`, item)
        content.push(item)
        break
      }
      case 'text-delta':
      case 'text-end':
      case 'reasoning-delta':
      case 'reasoning-end': {
        const item = open.get(`${type.slice(0, type.indexOf('-'))} ${id}`)
        if (!item) break
        item.text += delta
        if (providerMetadata) item.providerMetadata = providerMetadata
        break
      }
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
      case 'raw':
        break
      case 'error':
        throw providerError(part.error)
      case 'finish':
        end = part
        break
      default:
        content.push(part)
    }
  }
  if (!end) throw new Error('the stream of the response ended without a finish')
  const { finishReason, usage, providerMetadata } = end
  return {
    content: content.filter((item) => !isEmptyText(item)),
    finishReason,
    usage,
    warnings,
    response: { ...metadata, ...response },
    ...(providerMetadata && { providerMetadata }),
    ...(request && { request }),
  }
}

function isEmptyText(item: object): boolean {
  return 'text' in item && item.text === '' && 'type' in item && item.type === 'text'
}
