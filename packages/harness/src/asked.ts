import type { JournalEntry } from './journal.ts'
import type { Host } from './rules/hosts.ts'
import type { Wire } from './wires/wire.ts'

/** A received request, its wire and host, and when it arrived. */
export interface Asked {
  readonly wire: Wire
  readonly request: JournalEntry
  readonly host: Host
  readonly arrived: number
}
