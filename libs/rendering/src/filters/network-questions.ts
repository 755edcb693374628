/** What a render asks the thread for that waits for the network. */
export const DNS_CHECK = 'dns_check';
export const HTTP_QUERY = 'http_query';
