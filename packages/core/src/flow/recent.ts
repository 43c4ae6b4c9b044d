/** Repeats an action that took so long that its result may be outdated. */

/** After this many milliseconds another process may have taken over the run, if this process was suspended. */
const OLD = 1_000

/** Performs the action, and repeats it if it took longer than a second. */
export async function recently(act: () => Promise<void>): Promise<void> {
  const begun = Date.now()
  await act()
  if (Date.now() - begun > OLD) await act()
}
