/**
 * Administration on the management port: {@link io.kvasir.gateway.admin.AdminApi} and its parts, one for each thing
 * that can be seen or changed. Requests are read field by field, and all their faults are reported at once.
 */
@NullMarked
package io.kvasir.gateway.admin;

import org.jspecify.annotations.NullMarked;
