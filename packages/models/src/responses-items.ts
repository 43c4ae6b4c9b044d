/** Decides which output item an event of a Responses stream belongs to. */

import type { Label } from '@meanwhile/core'
import { canonicalArguments } from './canonical-arguments.ts'

/** The members that identify an item in an event. */
interface Carried {
  readonly type: string
  readonly id?: string | null | undefined
  readonly call_id?: string | null | undefined
  readonly name?: string | null | undefined
  readonly arguments?: unknown
}

/** The members with which an event refers to its item. */
interface Reference {
  readonly item_id?: string | null
  readonly output_index?: Place
}

type Place = number | null | undefined

export interface Item {
  /** Identifies its part or its call. */
  readonly label: Label
  /** Missing if it was not announced. */
  type?: string
  callId?: string
  name?: string
  /** Whether any of its text or arguments has arrived. */
  told: boolean
  /** Whether its arguments have ended. */
  ended: boolean
  /** Whether the whole item has arrived. */
  done: boolean
  /** Only for a call: its arguments so far. */
  text: string
  /** The arguments it began with: usually empty, but all of them if no others follow (qR10). */
  given?: string
  /**
   * A call with the same call_id that had not ended when this one began. This call is not reported until both have
   * ended.
   */
  rival?: Item | undefined
  /** Whether it repeats a call that was reported. */
  isRepeated?: boolean
}

/**
 * An item is identified by its own id or its call's id, or otherwise by its place in the output. Hosts send items
 * without an id, ids that change from event to event (qR3), one place for several items or none at all (qR7), and one
 * id for several calls (qR15).
 */
export class OutputItems {
  readonly #all: Item[] = []
  readonly #byId = new Map<string, Item>()
  readonly #byPlace = new Map<number, Item>()
  /** Calls that may not have ended, in order. */
  readonly #open = new Set<Item>()

  get none(): boolean {
    return this.#all.length === 0
  }

  /** Calls that began with arguments and received none since. */
  get untold(): readonly { readonly item: Item; readonly given: string }[] {
    return this.#all.flatMap((item) => (!item.told && item.given ? [{ item, given: item.given }] : []))
  }

  get calls(): readonly Item[] {
    return this.#all.filter(({ type }) => type === 'function_call')
  }

  /** The item that begins here. */
  begin(place: Place, carried: Carried): Item {
    const here = this.#at(place)
    const known = this.#named(carried, here) ?? (here?.type === undefined ? here : undefined)
    if (known && !known.ended && this.#isElsewhere(known, place, carried)) return this.#beside(known, place, carried)
    return this.#announce(known?.ended && this.#isAnother(known, place, carried) ? undefined : known, place, carried)
  }

  /** The item that an event contains as a whole, begun or not. */
  whole(place: Place, carried: Carried): Item {
    const here = this.#at(place)
    const known = this.#named(carried, here) ?? (here && fits(here, carried) ? here : undefined)
    if (known && !known.done && this.#isElsewhere(known, place, carried)) return this.#beside(known, place, carried)
    const isOver = known && (known.done || (known.ended && saysOther(known, carried)))
    return this.#announce(isOver && this.#isAnother(known, place, carried) ? undefined : known, place, carried)
  }

  /** A call that no event before the end of the response contained. */
  late(carried: Carried): Item {
    return this.#announce(undefined, undefined, carried)
  }

  /** The item of this type that an event refers to; the latest one if the event has no reference. */
  of(type: string, { item_id: id, output_index: place }: Reference): Item {
    const here = this.#at(place)
    const known = this.#named({ type, id }) ?? this.#fitting(here, type)
    // Two calls may also share their item id (qR15).
    if (known) return here && here.callId !== undefined && here.callId === known.callId ? here : known
    const latest = id || isPlace(place) ? undefined : this.#fitting(this.#all.at(-1), type)
    return latest ?? this.#add(place, id)
  }

  /** The call whose arguments end; the first open one if the event has no reference (qR7). */
  ending(reference: Reference): Item {
    const isNamed = reference.item_id || isPlace(reference.output_index)
    return (isNamed ? undefined : this.#firstOpen()) ?? this.of('function_call', reference)
  }

  /** The item that the end of the response repeats, if an event contained it. */
  known(place: Place, carried: Carried): Item | undefined {
    return this.#named(carried, this.#at(place))
  }

  #firstOpen(): Item | undefined {
    for (const item of this.#open) {
      if (!item.ended) return item
      this.#open.delete(item)
    }
    return undefined
  }

  /** If two calls share an id: the one at this place, otherwise the one with the same item id, otherwise the latest. */
  #named(carried: Carried, here?: Item): Item | undefined {
    if (here && carried.call_id && here.callId === carried.call_id) return here
    for (const id of [carried.id, carried.call_id]) {
      const item = id ? this.#byId.get(id) : undefined
      if (item && fits(item, carried)) return item
    }
    return undefined
  }

  /** Whether an event contains a new call, although a call with the same id is known and has ended (qR15). */
  #isAnother({ callId, name }: Item, place: Place, carried: Carried): boolean {
    if (callId === undefined) return false
    return this.#isNew(place) || (!!name && !!carried.name && name !== carried.name)
  }

  /** Whether only the call_id matches the known item: it has a different place and a different item id. */
  #isElsewhere({ callId }: Item, place: Place, { type, id, call_id }: Carried): boolean {
    if (type !== 'function_call' || callId === undefined || callId !== call_id) return false
    return this.#isNew(place) && !(id && this.#byId.has(id))
  }

  #isNew(place: Place): boolean {
    return isPlace(place) && !this.#byPlace.has(place)
  }

  #fitting(item: Item | undefined, type: string): Item | undefined {
    return item && fits(item, { type }) ? item : undefined
  }

  #at(place: Place): Item | undefined {
    return isPlace(place) ? this.#byPlace.get(place) : undefined
  }

  /** A new item that may be another call than the known one or a repetition: their arguments decide (qR16). */
  #beside(known: Item, place: Place, { call_id, ...carried }: Carried): Item {
    const item = this.#announce(undefined, place, carried)
    item.rival = known.rival ?? known
    if (call_id) item.callId = call_id
    return item
  }

  #announce(known: Item | undefined, place: Place, { type, id, call_id, name }: Carried): Item {
    const item = this.#add(place, id, call_id, known)
    item.type = type
    if (type === 'function_call' && !item.rival) this.#open.add(item)
    if (call_id) item.callId = call_id
    if (name) item.name ??= name
    return item
  }

  #add(
    place: Place,
    id?: string | null,
    callId?: string | null,
    item: Item = { label: this.#all.length, told: false, ended: false, done: false, text: '' },
  ): Item {
    if (item.label === this.#all.length) this.#all.push(item)
    if (isPlace(place)) this.#byPlace.set(place, item)
    if (id) this.#byId.set(id, item)
    if (callId && !item.rival) this.#byId.set(callId, item)
    return item
  }
}

/** Whether this call is complete. */
export function isOver({ told, ended, done }: Item): boolean {
  return done || (told && ended)
}

/** Whether the call in the event has other arguments than the known one, and also another name. */
function saysOther(known: Item, { name, arguments: text }: Carried): boolean {
  if (typeof text !== 'string' || !text || !known.told || !name || name === known.name) return false
  return canonicalArguments(text) !== canonicalArguments(known.text)
}

function isPlace(place: Place): place is number {
  return typeof place === 'number'
}

function fits(item: Item, { type, call_id: callId }: Carried): boolean {
  const otherCall = item.callId !== undefined && !!callId && item.callId !== callId
  return !otherCall && (item.type === undefined || item.type === type)
}
