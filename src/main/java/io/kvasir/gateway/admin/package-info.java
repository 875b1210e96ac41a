/**
 * Administration on the management port: which pods the fleet has. Requests are read field by field, and
 * every fault is told at once.
 */
@NullMarked
package io.kvasir.gateway.admin;

import org.jspecify.annotations.NullMarked;
