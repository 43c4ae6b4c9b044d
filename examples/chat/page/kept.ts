/** What this browser remembers. */

/** The switch. It holds for the next message. */
export const earlyTools = {
  isOn: () => localStorage.getItem('early-tools') !== 'off',
  set: (isOn: boolean) => localStorage.setItem('early-tools', isOn ? 'on' : 'off'),
  headers: () => ({ 'x-early-tools': earlyTools.isOn() ? 'on' : 'off' }),
}

interface EarlierChat {
  readonly id: string
  readonly title: string
}

/** The last five, the newest first. */
export const earlierChats = (): readonly EarlierChat[] => JSON.parse(localStorage.getItem('earlier-chats') ?? '[]')

export function rememberChat(chat: EarlierChat): void {
  const others = earlierChats().filter(({ id }) => id !== chat.id)
  localStorage.setItem('earlier-chats', JSON.stringify([chat, ...others].slice(0, 5)))
}
