/** The parts of the AI SDK's models that `resilient()` reads and writes. */

import type { Model } from '../resolved-model.ts'

export type Request = Parameters<Model['doStream']>[0]
export type StreamedAnswer = Awaited<ReturnType<Model['doStream']>>
export type WholeAnswer = Awaited<ReturnType<Model['doGenerate']>>
export type Part = StreamedAnswer['stream'] extends ReadableStream<infer One> ? One : never
export type PartOf<Type extends Part['type']> = Extract<Part, { readonly type: Type }>
export type Finish = PartOf<'finish'>
export type Usage = Finish['usage']
export type Warning = PartOf<'stream-start'>['warnings'][number]

/** The kinds of blocks that are streamed in pieces. */
export type Kind = 'text' | 'reasoning'
export type BlockPart = PartOf<`${Kind}-${'start' | 'delta' | 'end'}`>

/** Whether it is a part of a block of text or reasoning. */
export function isBlockPart(part: Part): part is BlockPart {
  return BLOCK_PARTS.has(part.type)
}

const BLOCK_PARTS: ReadonlySet<string> = new Set<BlockPart['type']>([
  'text-start',
  'text-delta',
  'text-end',
  'reasoning-start',
  'reasoning-delta',
  'reasoning-end',
])

/** Whether the model has said something, and not only that it is there. */
export function isOutput(part: Part): boolean {
  switch (part.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'tool-input-delta':
      return part.delta !== ''
    case 'tool-call':
    case 'tool-result':
    case 'tool-approval-request':
    case 'file':
    case 'reasoning-file':
    case 'source':
    case 'custom':
      return true
    default:
      return false
  }
}
