import { expect } from 'vitest'

/** Expects that the run succeeded, or that the adapter refused the response: and that no bug of the adapter is the cause. */
export function expectRefusal(error: unknown): void {
  if (error === undefined) return
  expect(error).toMatchObject({ name: 'ModelError' })
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    expect(cause).not.toBeInstanceOf(TypeError)
}
