/** Lets the process exit while this timer is pending. */
export function unref(timer: ReturnType<typeof setTimeout>): void {
  if (typeof timer === 'object') timer.unref?.()
}
