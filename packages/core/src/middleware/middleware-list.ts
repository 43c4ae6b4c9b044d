/** Checks the list of an agent's middleware: its members, their names, and their order. */

import { checkCopy } from '../vocabulary/copies.ts'
import { ConfigError } from '../vocabulary/errors.ts'
import { isRecord } from '../vocabulary/json.ts'
import type { Middleware } from '../vocabulary/middleware.ts'
import { checkOptions, checkSchema, nearestName } from '../vocabulary/option-checks.ts'

/** Returns the list, frozen, with the middleware of core first. Throws {@link ConfigError} if a member, its name or its place is wrong. */
export function middlewareList(
  given: readonly Middleware[],
  outermost: readonly Middleware[] = [],
): readonly Middleware[] {
  if (typeof given === 'function') throw refused('must be a list: call the function that makes it')
  if (!Array.isArray(given)) throw refused('must be a list')
  const list: readonly Middleware[] = Object.freeze([...outermost, ...given])
  for (const one of list) checkMember(one)
  checkNames(list)
  checkOrder(list)
  return list
}

// A function also has a name, so a factory that was not called would pass as a middleware that does nothing.
function checkMember(one: unknown): void {
  checkCopy(one)
  if (typeof one === 'function') {
    const name = one.name || 'one of them'
    throw refused(`${name} is a function that makes a middleware: call it, ${one.name || 'make'}()`)
  }
  if (Array.isArray(one)) throw refused('one of them is a list: spread it, [...list]')
  if (!isRecord(one)) throw refused(`one of them is not a middleware: ${String(one)}`)
  if (typeof one.name !== 'string' || one.name === '') throw refused('one of them has no name: a middleware needs one')
  checkSides(one.name, one.order)
  checkSchema(`middleware.${one.name}.answer`, one.answer as Middleware['answer'])
  checkSchema(`middleware.${one.name}.context`, one.context as Middleware['context'])
  if (!['undefined', 'boolean', 'function'].includes(typeof (one.ignoresInput ?? undefined)))
    throw refused(`"${one.name}" has an ignoresInput that is neither true, false nor a function`)
  const given = METHODS.filter((method) => (one[method] ?? undefined) !== undefined)
  const wrong = given.find((method) => typeof one[method] !== 'function')
  if (wrong) throw refused(`"${one.name}" has a ${wrong} that is not a function`)
  for (const key of Object.keys(one)) {
    const nearest = typeof one[key] === 'function' && !(key in NAMES) && nearestName(key, NAMES)
    if (nearest) throw refused(`"${one.name}" has the unknown member ${key}; did you mean ${nearest}?`)
  }
  if (given.length > 0) return
  // A middleware may have only a name and its own methods, but a method that looks like a hook or wrap is misspelt.
  const [unknown] = Object.keys(one).filter((key) => /^(before|after|wrap)[A-Z]/.test(key) && !(key in NAMES))
  if (unknown)
    throw refused(`"${one.name}" has ${unknown}, and none of the methods of a middleware: ${METHODS.join(', ')}`)
}

/** Checks lists of names of other middleware. */
function checkSides(name: string, order: unknown): void {
  if (order === undefined || order === null) return
  if (isRecord(order))
    checkOptions<NonNullable<Middleware['order']>>(
      'order',
      order,
      { outside: 'before', inside: 'after' },
      `middleware.${name}.order.`,
    )
  const sides = isRecord(order) ? [order.outside ?? [], order.inside ?? []] : [undefined]
  const areLists = sides.every((side) => Array.isArray(side) && side.every((other) => typeof other === 'string'))
  if (!areLists) throw refused(`"${name}" has an order that is not { outside?, inside? }, each a list of names`)
}

type Method = Extract<keyof Middleware, `${'before' | 'after' | 'wrap'}${string}`>

/** The methods of a middleware, each with the names that other libraries use for it. */
const NAMES: Readonly<Record<Method, string>> = {
  beforeAgent: '',
  beforeModel: '',
  afterModel: '',
  beforeFinalAnswer: '',
  wrapAgent: '',
  wrapModel: '',
  wrapToolCall: 'wrapTool beforeTool afterTool beforeToolCall afterToolCall',
}

const METHODS = Object.keys(NAMES)

function checkNames(list: readonly Middleware[]): void {
  const names = list.map(({ name }) => name)
  const twice = names.find((name, place) => names.indexOf(name) < place)
  if (twice) throw refused(`two of them are named "${twice}"`)
}

/** Checks that each middleware is at a place that all `order`s allow. */
function checkOrder(list: readonly Middleware[]): void {
  const places = new Map(list.map(({ name }, place) => [name, place]))
  const orders = list.flatMap(ordersOf)
  for (const [outer, inner] of orders) {
    const [first, second] = [places.get(outer), places.get(inner)]
    if (first === undefined || second === undefined || first < second) continue
    if (orders.some(([outside, inside]) => outside === inner && inside === outer))
      throw refused(
        `"${outer}" and "${inner}" must each be outside the other, by their orders: a list cannot have both`,
      )
    throw refused(`"${outer}" must be outside "${inner}": put it earlier in the list`)
  }
}

function ordersOf({ name, order }: Middleware): (readonly [outer: string, inner: string])[] {
  const within = order?.outside?.map((inner) => [name, inner] as const) ?? []
  const around = order?.inside?.map((outer) => [outer, name] as const) ?? []
  return [...within, ...around]
}

function refused(problem: string): ConfigError {
  return new ConfigError('middleware', problem)
}
