/** Stops early starts of tools that waste more than they save, for a while. */

import { ConfigError, checkOptions } from '@meanwhile/core'

export interface EagerBudget {
  /** How many milliseconds more a tool may have wasted than saved. Default 1,000; from 0 on. */
  readonly toleranceMs?: number
  /** In how many milliseconds what a tool has saved and wasted counts half. Default 300,000 (five minutes). */
  readonly halfLifeMs?: number
}

/** Saved less wasted, as it stood then. */
interface Balance {
  readonly ms: number
  readonly at: number
}

/** Tools a budget knows of; beyond that it forgets the one that has not been heard of for longest. */
const MOST_TOOLS = 1_000

/** Over all runs, and all agents, with one `eagerTools()`; tools are told apart by their names. */
export class Budget {
  readonly #tolerance: number
  readonly #halfLife: number
  readonly #balances: Map<string, Balance> = new Map()

  constructor(options: EagerBudget) {
    checkOptions('budget', options, { toleranceMs: '', halfLifeMs: '' }, 'budget.')
    const { toleranceMs = 1_000, halfLifeMs = 300_000 } = options
    if (!(Number.isFinite(toleranceMs) && toleranceMs >= 0))
      throw new ConfigError('budget.toleranceMs', 'must be a number from 0 on')
    if (!(Number.isFinite(halfLifeMs) && halfLifeMs > 0))
      throw new ConfigError('budget.halfLifeMs', 'must be a number above 0')
    this.#tolerance = toleranceMs
    this.#halfLife = halfLifeMs
  }

  /** Whether a tool has wasted so much more than it has saved that its calls do not start early. */
  isSpent(tool: string): boolean {
    return -this.#balanceOf(tool) > this.#tolerance
  }

  /** A call has saved so many milliseconds; a negative number is what it has wasted. */
  add(tool: string, ms: number): void {
    const balance = { ms: this.#balanceOf(tool) + ms, at: performance.now() }
    this.#balances.delete(tool)
    this.#balances.set(tool, balance)
    const [oldest] = this.#balances.keys()
    if (this.#balances.size > MOST_TOOLS && oldest !== undefined) this.#balances.delete(oldest)
  }

  #balanceOf(tool: string): number {
    const { ms, at } = this.#balances.get(tool) ?? { ms: 0, at: 0 }
    return ms * 2 ** ((at - performance.now()) / this.#halfLife)
  }
}
