/** The question of a render to the thread that waits for the network. */
export const DNS_CHECK = 'dns_check';
export const HTTP_QUERY = 'http_query';
