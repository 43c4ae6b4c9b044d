import { inject } from 'vitest'
import { createDatabase } from './database.ts'

declare module 'vitest' {
  interface ProvidedContext {
    readonly postgres: string
  }
}

/** The URL of a new, empty database on the server that all tests share. */
export function ownDatabase(): Promise<string> {
  return createDatabase(inject('postgres'))
}
