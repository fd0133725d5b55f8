/** Numbers of our advisory locks; `space` separates them from those of other programs in the same database. */
export const advisoryLock = { space: 0x4c53_4852, serving: 1, migrating: 2 } as const
