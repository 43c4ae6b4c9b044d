/** Decides which output item an event of a Responses stream belongs to. */

import type { Assembler } from '@meanwhile/assemble'
import type { InputLimits } from '@meanwhile/core'
import { CallInput } from './call-input.ts'
import { ContradictionError } from './explain.ts'
import { type Carried, fits, type Item, identityOf, isCall, isOfOther, saysOther } from './responses-item.ts'
import { idIn, placeIn } from './wire-values.ts'

/** The members with which an event refers to its item. */
interface Reference {
  readonly item_id?: unknown
  /** Some hosts refer to a call by its own id only (qR24). */
  readonly call_id?: unknown
  readonly output_index?: unknown
}

type Place = number | undefined

/**
 * An item is identified by its own id or its call's id, or otherwise by its place in the output. Hosts send items
 * without an id, ids that change from event to event (qR3), one place for several items or none at all (qR7), and one
 * id for several calls (qR15).
 */
export class OutputItems {
  readonly #limits: InputLimits
  readonly #all: Item[] = []
  readonly #byId = new Map<string, Item>()
  readonly #byPlace = new Map<number, Item>()
  /** Calls that may not have ended, in order. */
  readonly #open = new Set<Item>()
  /** Those of them whose arguments may not be complete. */
  readonly #unfinished = new Set<Item>()
  /** The call that began last. */
  #latestCall: Item | undefined

  constructor(limits: InputLimits) {
    this.#limits = limits
  }

  get none(): boolean {
    return this.#all.length === 0
  }

  /** Calls that began with arguments and received none since. */
  get untold(): readonly { readonly item: Item; readonly given: string }[] {
    return this.#all.flatMap((item) => (!item.isFed && item.given ? [{ item, given: item.given }] : []))
  }

  get calls(): readonly Item[] {
    return this.#all.filter(({ type }) => type === 'function_call')
  }

  /** The call with this id. */
  call(id: unknown): Item | undefined {
    const item = this.#byId.get(idIn(id) ?? '')
    return item && isCall(item) ? item : undefined
  }

  /** The item that begins here. */
  begin(at: unknown, carried: Carried): Item {
    const place = placeIn(at)
    const here = this.#at(place)
    const known = this.#named(carried, here) ?? (here?.type === undefined ? here : undefined)
    if (known?.ended && isOfOther(known, carried)) return this.#announce(undefined, place, carried)
    const isTwin = known && (known.ended ? isCall(known) : this.#isElsewhere(known, place, carried))
    return isTwin ? this.#beside(known, place, carried) : this.#announce(known, place, carried)
  }

  /** The item that an event contains as a whole, begun or not. */
  whole(at: unknown, carried: Carried): Item {
    const place = placeIn(at)
    const here = this.#at(place)
    const known = this.#named(carried, here) ?? (here && fits(here, carried) ? here : undefined)
    if (known && isOfOther(known, carried) && (known.done || saysOther(known, carried))) {
      return this.#announce(undefined, place, carried)
    }
    const isTwin = known && (known.done ? isCall(known) : this.#isElsewhere(known, place, carried))
    return isTwin ? this.#beside(known, place, carried) : this.#announce(known, place, carried)
  }

  /** A call that no event before the end of the response contained. */
  late(carried: Carried): Item {
    return this.#announce(undefined, undefined, carried)
  }

  /**
   * The item of this type that an event refers to; the latest one if the event has no reference, unless it may as well
   * belong to another call (qR25).
   *
   * @throws {ContradictionError} Its references are those of different items (qR20).
   */
  of(type: string, { item_id, call_id, output_index }: Reference, to: Assembler): Item {
    const [id, callId, place] = [idIn(item_id), idIn(call_id), placeIn(output_index)]
    const here = this.#at(place)
    if (type === 'function_call') this.#checkReferences([id, callId], here, place)
    const known = this.#named({ type, id }) ?? this.#named({ type, id: callId })
    // Two calls may share their ids (qR15).
    if (known) return here && here.callId !== undefined && here.callId === known.callId ? here : known
    const latest = (id ?? callId ?? place) === undefined ? this.#latest(type, to) : undefined
    return this.#fitting(here, type) ?? latest ?? this.#add(place, id ?? callId)
  }

  /** The call whose arguments end; the first open one if the event has no reference (qR7). */
  ending(reference: Reference, to: Assembler): Item {
    const isNamed =
      (idIn(reference.item_id) ?? idIn(reference.call_id) ?? placeIn(reference.output_index)) !== undefined
    return (isNamed ? undefined : this.#firstOpen()) ?? this.of('function_call', reference, to)
  }

  /** The item that the end of the response repeats, if an event contained it. */
  known(place: number, carried: Carried): Item | undefined {
    const here = this.#at(place)
    return this.#named(carried, here) ?? (here?.type === undefined ? here : undefined)
  }

  /** The call whose arguments are still arriving, if there is exactly one and no other began after it (qR19). */
  onlyOpen(to: Assembler): Item | undefined {
    let only: Item | undefined
    for (const item of this.#arriving(to)) {
      if (only) return undefined
      only = item
    }
    return only === this.#latestCall ? only : undefined
  }

  /** The latest item, if it is of this type. A call is not, while the arguments of another one are still arriving. */
  #latest(type: string, to: Assembler): Item | undefined {
    const latest = this.#fitting(this.#all.at(-1), type)
    if (type !== 'function_call') return latest
    for (const item of this.#arriving(to)) if (item !== latest) return undefined
    return latest
  }

  /** The calls whose arguments are still arriving. */
  *#arriving(to: Assembler): Generator<Item, void, undefined> {
    for (const item of this.#unfinished) {
      if (item.ended || item.done || to.isWhole(item.label)) this.#unfinished.delete(item)
      else yield item
    }
  }

  #firstOpen(): Item | undefined {
    for (const item of this.#open) {
      if (!item.ended) return item
      this.#open.delete(item)
    }
    return undefined
  }

  /** If two calls share an id: the one at this place, otherwise the one with the same item id, otherwise the latest. */
  #named({ type, id, call_id }: Carried, here?: Item): Item | undefined {
    const callId = idIn(call_id)
    if (here && callId !== undefined && here.callId === callId) return here
    for (const name of [idIn(id), callId]) {
      const item = name === undefined ? undefined : this.#byId.get(name)
      if (item && fits(item, { type, call_id })) return item
    }
    return undefined
  }

  /** @throws {ContradictionError} An id is that of another item than the place, or than the other id (qR20, qR24). */
  #checkReferences(ids: readonly (string | undefined)[], here: Item | undefined, place: Place): void {
    const items = ids.map((id) => (id === undefined ? undefined : this.#byId.get(id)))
    for (const item of items) {
      if (here && isCall(here) && item?.place !== undefined && item.place !== place) checkSame(here, item)
    }
    const [referred, called] = items
    if (referred && called) checkSame(called, referred)
  }

  /** Whether only the call_id matches the known item: it has a different place and a different item id. */
  #isElsewhere(known: Item, place: Place, { id, call_id }: Carried): boolean {
    if (!isCall(known) || known.callId === undefined || known.callId !== idIn(call_id)) return false
    return place !== undefined && !this.#byPlace.has(place) && !this.#byId.has(idIn(id) ?? '')
  }

  #fitting(item: Item | undefined, type: string): Item | undefined {
    return item && fits(item, { type }) ? item : undefined
  }

  #at(place: Place): Item | undefined {
    return place === undefined ? undefined : this.#byPlace.get(place)
  }

  /** A new item that may be another call than the known one or a repetition: their arguments decide (qR16). */
  #beside(known: Item, place: Place, carried: Carried): Item {
    const here = this.#at(place)
    const item = here && here.type === undefined ? here : this.#add(place, idIn(carried.id))
    item.first = known.first ?? known
    item.isHeld = true
    return this.#announce(item, place, carried)
  }

  #announce(known: Item | undefined, place: Place, { type, id, call_id, name }: Carried): Item {
    const callId = idIn(call_id)
    const item = this.#add(place, idIn(id), known)
    const isKnown = isCall(item)
    // A result has the id of its call.
    if (callId !== undefined && !item.first && type !== 'function_call_output') this.#byId.set(callId, item)
    item.type = type
    if (place !== undefined) item.place = place
    if (isCall(item) && !isKnown) this.#latestCall = item
    if (isCall(item) && !item.isHeld) {
      this.#open.add(item)
      this.#unfinished.add(item)
    }
    if (callId !== undefined) item.callId = callId
    if (name) item.name ??= name
    return item
  }

  #add(place: Place, id: string | undefined, item = this.#new()): Item {
    if (item.label === this.#all.length) this.#all.push(item)
    if (place !== undefined) this.#byPlace.set(place, item)
    if (id !== undefined) {
      item.id = id
      this.#byId.set(id, item)
    }
    return item
  }

  #new(): Item {
    const input = new CallInput(this.#limits)
    return { label: this.#all.length, input, isFed: false, ended: false, isSealed: false, done: false }
  }
}

/** @throws {ContradictionError} They are two calls, or a call and another item. */
function checkSame(call: Item, other: Item): void {
  if (call === other || (call.callId !== undefined && call.callId === other.callId)) return
  throw new ContradictionError(
    `arguments came with references to different items, one of them the call of ${call.name ?? 'an unknown tool'}`,
    identityOf(call),
  )
}
