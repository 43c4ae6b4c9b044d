/** Which item of the output an event of a Responses stream is of. */

import type { Label } from '@meanwhile/core'
import { canonicalArguments } from './canonical-arguments.ts'

/** What is read of an item that an event carries, to know it by. */
interface Carried {
  readonly type: string
  readonly id?: string | null | undefined
  readonly call_id?: string | null | undefined
  readonly name?: string | null | undefined
  readonly arguments?: unknown
}

/** What an event says of the item it is of. */
interface Reference {
  readonly item_id?: string | null
  readonly output_index?: Place
}

type Place = number | null | undefined

export interface Item {
  /** What tells its part, or its call, from the others. */
  readonly label: Label
  /** None if it was not announced. */
  type?: string
  callId?: string
  name?: string
  /** Whether any of its text, or of its arguments, has come. */
  told: boolean
  /** Whether its arguments have ended. */
  ended: boolean
  /** Whether it has come whole. */
  done: boolean
  /** Of a call: its arguments, as far as they have come. */
  text: string
  /** The arguments it began with: nothing as a rule, and all of them where no others come (qR10). */
  given?: string
  /** A call that had not ended when this one, with the same call_id, began. Nothing of this one is shown until both have ended. */
  rival?: Item | undefined
  /** It was the same call as one that is shown. */
  isRepeated?: boolean
}

/**
 * An item is known by its own id or its call's, or else by its place in the output. Hosts send items without an id, ids that
 * change from event to event (qR3), one place for several items, or none at all (qR7), and one id for several calls (qR15).
 */
export class OutputItems {
  readonly #all: Item[] = []
  readonly #byId = new Map<string, Item>()
  readonly #byPlace = new Map<number, Item>()
  /** Calls that may not have ended, in their order. */
  readonly #open = new Set<Item>()

  get none(): boolean {
    return this.#all.length === 0
  }

  /** What began with arguments, and told none since. */
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

  /** The item that is carried whole, begun or not. */
  whole(place: Place, carried: Carried): Item {
    const here = this.#at(place)
    const known = this.#named(carried, here) ?? (here && fits(here, carried) ? here : undefined)
    if (known && !known.done && this.#isElsewhere(known, place, carried)) return this.#beside(known, place, carried)
    const isOver = known && (known.done || (known.ended && saysOther(known, carried)))
    return this.#announce(isOver && this.#isAnother(known, place, carried) ? undefined : known, place, carried)
  }

  /** A call that no event before the end of the response has told of. */
  late(carried: Carried): Item {
    return this.#announce(undefined, undefined, carried)
  }

  /** The item of this type that something is said of: the latest, if nothing is said of which. */
  of(type: string, { item_id: id, output_index: place }: Reference): Item {
    const here = this.#at(place)
    const known = this.#named({ type, id }) ?? this.#fitting(here, type)
    // Two calls may share their item id as well (qR15).
    if (known) return here && here.callId !== undefined && here.callId === known.callId ? here : known
    const latest = id || isPlace(place) ? undefined : this.#fitting(this.#all.at(-1), type)
    return latest ?? this.#add(place, id)
  }

  /** The call whose arguments end: the first that is open, if nothing is said of which (qR7). */
  ending(reference: Reference): Item {
    const isNamed = reference.item_id || isPlace(reference.output_index)
    return (isNamed ? undefined : this.#firstOpen()) ?? this.of('function_call', reference)
  }

  /** The item that the end of the response carries once more, if an event has told of it. */
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

  /** If two calls share an id: the one that stands `here`, or else has the same item id, or else came last. */
  #named(carried: Carried, here?: Item): Item | undefined {
    if (here && carried.call_id && here.callId === carried.call_id) return here
    for (const id of [carried.id, carried.call_id]) {
      const item = id ? this.#byId.get(id) : undefined
      if (item && fits(item, carried)) return item
    }
    return undefined
  }

  /** Whether an event carries a new call, although a call with the same id is known and has ended (qR15). */
  #isAnother({ callId, name }: Item, place: Place, carried: Carried): boolean {
    if (callId === undefined) return false
    return this.#isNew(place) || (!!name && !!carried.name && name !== carried.name)
  }

  /** Whether only the call_id says that this is the known item: it has a place of its own, and not the same item id. */
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

  /** An item that may be another call than the known one, or the same once more: their arguments tell (qR16). */
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

/** Whether nothing more will come of this call. */
export function isOver({ told, ended, done }: Item): boolean {
  return done || (told && ended)
}

/** Whether the carried call has other arguments than the known one, and none of its names. */
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
