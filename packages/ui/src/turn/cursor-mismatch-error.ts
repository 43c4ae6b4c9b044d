import { BrandedError } from '@meanwhile/core/calls'

/** The cursor is damaged, or belongs to another thread than the events. */
export class CursorMismatchError extends BrandedError {
  static override readonly brand: string = 'CursorMismatchError'
  /** The cursor that was given. */
  readonly cursor: string

  constructor(cursor: string) {
    super('the cursor is damaged, or belongs to another thread')
    this.cursor = cursor
  }
}
