/**
 * What a reader of several attempts gets: text and reasoning at once, and everything else when its attempt has ended
 * well. A later attempt continues the blocks that the reader has, as long as it says the same.
 */

import { ShownText } from '../../resilient/shown-text.ts'
import { type BlockPart, isBlockPart, type Kind, type Part, type PartOf, type Warning } from './parts.ts'

/** A block that the reader has. It stays open until an attempt stands, so that its metadata can be replaced. */
interface Block {
  readonly kind: Kind
  /** Unique among all blocks of all attempts. */
  readonly id: string
  readonly text: ShownText
  /** The attempt whose metadata the reader has. */
  markedBy: number | undefined
  isClosed: boolean
}

/** A block of the present attempt, under the id that the attempt has given to it. */
interface OpenBlock {
  readonly id: string
  block: Block
  metadata: BlockPart['providerMetadata']
}

export interface ShownPartsOptions {
  /** Nothing is shown before an attempt stands. */
  readonly hold: boolean
  /** The tool inputs of the first attempt are shown as they come. */
  readonly liveInput: boolean
}

export class ShownParts {
  /** How many characters of text and reasoning the reader has received. */
  characters = 0
  readonly #options: ShownPartsOptions
  readonly #send: (part: Part) => void
  /** The blocks that the reader has and that an attempt may continue, in the order in which they began. */
  readonly #blocks: Readonly<Record<Kind, Block[]>> = { text: [], reasoning: [] }
  readonly #ids: Set<string> = new Set()
  /** Those of all attempts. */
  readonly #warnings: Warning[] = []
  #attempt = 1
  #stands = false
  /** Whether parts wait until the attempt stands. */
  #isHolding: boolean
  /** How many blocks the attempt has begun. */
  #begun: Record<Kind, number> = { text: 0, reasoning: 0 }
  /** Its blocks that have not ended. */
  readonly #open: Map<string, OpenBlock> = new Map()
  /** Its parts that come before the first one that the reader gets. */
  #beginning: (PartOf<'stream-start'> | PartOf<'response-metadata'>)[] = []
  /** Its parts that wait without keeping back the text after them. */
  #notes: Part[] = []
  /** The ends of its blocks, which wait. */
  #ends: { readonly block: Block; readonly part: BlockPart }[] = []
  #held: Part[] = []

  constructor(options: ShownPartsOptions, send: (part: Part) => void) {
    this.#options = options
    this.#send = send
    this.#isHolding = options.hold
  }

  /** A part of the present attempt, except for an error or a finish. */
  take(part: Part): void {
    if (this.#stands) this.#show(part)
    else if (part.type === 'stream-start' || part.type === 'response-metadata') this.#beginning.push(part)
    else if (part.type === 'ping' || part.type === 'raw' || this.#isLive(part)) this.#out(part)
    else if (!this.#isHolding && isBlockPart(part)) this.#showBlock(part)
    else if (!this.#isHolding && isNote(part)) this.#notes.push(part)
    else {
      this.#isHolding = true
      this.#held.push(part)
    }
  }

  /** The attempt counts: the reader gets what has waited, and from now on everything. */
  stand(): void {
    this.#stands = true
    for (const part of this.#notes.splice(0)) this.#out(part)
    for (const { block, part } of this.#ends.splice(0)) if (!block.isClosed) this.#block(block, part)
    for (const part of this.#held.splice(0)) this.#show(part)
    for (const open of this.#open.values()) if (!open.block.text.isWhole) this.#fork(open)
    for (const kind of ['text', 'reasoning'] as const) this.#closeFrom(kind, this.#begun[kind])
    this.#begin()
  }

  /** The attempt has failed, and another one begins. `warning`: what the reader receives about it. */
  again(warning: string): void {
    for (const part of this.#beginning) if (part.type === 'stream-start') this.#warnings.push(...part.warnings)
    this.#warnings.push({ type: 'other', message: warning })
    this.#attempt++
    this.#isHolding = this.#options.hold
    this.#begun = { text: 0, reasoning: 0 }
    this.#open.clear()
    this.#beginning = [{ type: 'stream-start', warnings: [] }]
    this.#notes = []
    this.#ends = []
    this.#held = []
    for (const { text } of [...this.#blocks.text, ...this.#blocks.reasoning]) text.again()
  }

  #isLive({ type }: Part): boolean {
    const isInput = type === 'tool-input-start' || type === 'tool-input-delta' || type === 'tool-input-end'
    return isInput && this.#options.liveInput && this.#attempt === 1
  }

  #show(part: Part): void {
    if (isBlockPart(part)) this.#showBlock(part)
    else this.#out(part)
  }

  #showBlock(part: BlockPart): void {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#start(part)
        break
      case 'text-delta':
      case 'reasoning-delta':
        this.#add(part)
        break
      default:
        this.#end(part)
    }
  }

  #start(part: PartOf<`${Kind}-start`>): void {
    const kind = kindOf(part)
    const block = this.#blocks[kind][this.#begun[kind]++]
    const { id, providerMetadata: metadata } = part
    this.#open.set(nameOf(part), { id, block: block ?? this.#new(kind, part), metadata })
    // The block of an earlier attempt gets the metadata of this one.
    if (block && metadata)
      this.#block(block, { type: `${kind}-delta`, id: block.id, delta: '', providerMetadata: metadata })
  }

  #add(part: PartOf<`${Kind}-delta`>): void {
    const open = this.#open.get(nameOf(part))
    if (!open) {
      this.#out(part)
      return
    }
    open.metadata = part.providerMetadata ?? open.metadata
    let fresh = open.block.isClosed ? undefined : open.block.text.add(part.delta)
    if (fresh === undefined) {
      this.#fork(open)
      fresh = open.block.text.add(part.delta)
    }
    this.characters += fresh?.length ?? 0
    // What the reader has already is left out.
    if (fresh || part.delta === '' || part.providerMetadata)
      this.#block(open.block, { ...part, id: open.block.id, delta: fresh ?? '' })
  }

  #end(part: PartOf<`${Kind}-end`>): void {
    const name = nameOf(part)
    const open = this.#open.get(name)
    if (!open) {
      this.#out(part)
      return
    }
    if (open.block.isClosed || !open.block.text.isWhole) this.#fork(open)
    this.#open.delete(name)
    const { block } = open
    const isMarkedByOther = block.markedBy !== undefined && block.markedBy !== this.#attempt
    const end = { ...part, id: block.id, ...(isMarkedByOther && !part.providerMetadata && { providerMetadata: {} }) }
    if (this.#stands) this.#block(block, end)
    else this.#ends.push({ block, part: end })
  }

  /** The attempt has other text than the reader: a new block begins, with all that the attempt has written in it. */
  #fork(open: OpenBlock): void {
    const { kind, text } = open.block
    const place = this.#blocks[kind].indexOf(open.block)
    if (place >= 0) this.#closeFrom(kind, place)
    const { id, metadata } = open
    const block = this.#new(kind, {
      type: `${kind}-start`,
      id,
      ...(metadata && { providerMetadata: metadata }),
    })
    open.block = block
    this.#begun[kind] = this.#blocks[kind].length
    const delta = block.text.add(text.written)
    if (!delta) return
    this.characters += delta.length
    this.#block(block, { type: `${kind}-delta`, id: block.id, delta })
  }

  #new(kind: Kind, start: PartOf<`${Kind}-start`>): Block {
    let { id } = start
    for (let number = 2; this.#ids.has(id); number++) id = `${start.id}-${number}`
    this.#ids.add(id)
    const block: Block = { kind, id, text: new ShownText(), markedBy: undefined, isClosed: false }
    this.#blocks[kind].push(block)
    this.#block(block, { ...start, id })
    return block
  }

  /** Closes the blocks from this place on. The metadata of a broken response is taken away: its provider does not know it. */
  #closeFrom(kind: Kind, place: number): void {
    for (const block of this.#blocks[kind].splice(place)) {
      block.isClosed = true
      const isMarked = block.markedBy !== undefined
      this.#out({ type: `${kind}-end`, id: block.id, ...(isMarked && { providerMetadata: {} }) })
    }
  }

  /** Sends a part of a block. */
  #block(block: Block, part: BlockPart): void {
    if (part.providerMetadata) block.markedBy = this.#attempt
    this.#out(part)
  }

  #out(part: Part): void {
    this.#begin()
    this.#send(part)
  }

  /** Sends the parts that come first. Their warnings are those of all attempts. */
  #begin(): void {
    const parts = this.#beginning
    this.#beginning = []
    for (const part of parts) if (part.type === 'stream-start') this.#warnings.push(...part.warnings)
    const [start] = parts.filter(({ type }) => type === 'stream-start')
    if (start) this.#send({ type: 'stream-start', warnings: [...this.#warnings] })
    for (const part of parts) if (part.type === 'response-metadata') this.#send(part)
  }
}

/** Custom parts that only tell something of their response. Others are sent back to the provider, in their place. */
const NOTES: ReadonlySet<string> = new Set(['anthropic.message_start'])

/** Whether the place of a part among the others does not matter. */
function isNote(part: Part): boolean {
  return part.type === 'source' || (part.type === 'custom' && NOTES.has(part.kind))
}

function kindOf({ type }: BlockPart): Kind {
  return type.startsWith('text') ? 'text' : 'reasoning'
}

/** A block of text and one of reasoning may have the same id. */
function nameOf(part: BlockPart): string {
  return `${kindOf(part)} ${part.id}`
}
