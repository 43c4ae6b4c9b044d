/** What must not be old when something follows from it. */

/** By then another process may have taken a run over from this one, which stood still without noticing. */
const OLD = 1_000

/** Does it, and does it again if it began more than a second ago by the time it is done. */
export async function recently(act: () => Promise<void>): Promise<void> {
  const begun = Date.now()
  await act()
  if (Date.now() - begun > OLD) await act()
}
