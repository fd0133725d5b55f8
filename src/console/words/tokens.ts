/** Tokens that came with a user have no name. */
export const tokenName = ({ name }: { name: string }): string => name || 'First token'
