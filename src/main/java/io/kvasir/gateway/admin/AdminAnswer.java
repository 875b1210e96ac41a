package io.kvasir.gateway.admin;

/** What the admin API answers a request that it has carried out: a whole body, or a stream. */
public sealed interface AdminAnswer permits AdminResponse, AdminStream {}
