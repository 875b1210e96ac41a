package io.kvasir.kubernetes;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** What a fake API server has, does wrong and has counted. */
final class FakeServerState {
  final FakeObjects objects = new FakeObjects();
  /** The resources there are, and what their objects are held against. */
  final Map<ApiResource, Definition> resources = new ConcurrentHashMap<>();
  final Map<String, String> users = new ConcurrentHashMap<>();
  final Set<String> denied = ConcurrentHashMap.newKeySet();
  final Map<String, AtomicInteger> requests = new ConcurrentHashMap<>();
  final Map<String, FakeObjects.Snapshot> pages = new ConcurrentHashMap<>();
  final AtomicInteger watches = new AtomicInteger();
  final AtomicInteger failures = new AtomicInteger();
  /** Raised to end all watches. */
  final AtomicInteger cuts = new AtomicInteger();
  final AtomicInteger bookmarks = new AtomicInteger();
  volatile boolean expiresInStream;
  volatile boolean held;
  volatile int failure;
}
