/**
 * The traffic of tenants through the cluster: each node tells its own as {@link
 * io.kvasir.gateway.admin.tenants.TenantReport}s, and {@link io.kvasir.gateway.admin.tenants.TenantsHandler} shows
 * their sums.
 */
@NullMarked
package io.kvasir.gateway.admin.tenants;

import org.jspecify.annotations.NullMarked;
