/**
 * IPv4 addresses of instance metadata, which also hands out keys of a cloud: link-local for most clouds, and those of
 * Azure and Alibaba, which lie in no private range.
 */
export const metadataRanges = ['169.254.0.0/16', '168.63.129.16/32', '100.100.100.200/32'] as const
