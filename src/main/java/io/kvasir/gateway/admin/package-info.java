/**
 * Administration on the management port: {@link io.kvasir.gateway.admin.AdminApi} and its parts, one for each thing
 * that can be seen or changed. What is asked is read field by field, and every fault is told at once.
 */
@NullMarked
package io.kvasir.gateway.admin;

import org.jspecify.annotations.NullMarked;
