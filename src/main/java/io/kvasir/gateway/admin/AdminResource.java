package io.kvasir.gateway.admin;

import java.util.List;

/** A part of the admin API: workers, profiles, decisions … Thread-safe, as what its routes do is. */
@FunctionalInterface
public interface AdminResource {
  /** What it does, always the same. The API's document has to describe each of them. */
  List<AdminRoute> routes();
}
