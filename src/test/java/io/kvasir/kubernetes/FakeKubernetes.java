package io.kvasir.kubernetes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import io.kvasir.app.Certificates;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * A Kubernetes API server, small and of its own word: lists in pages, watches with bookmarks and label selectors,
 * versions that expire, status subresources, merge patches, conflicts, token and access reviews, and the faults of real
 * ones. Fabric8's mock server has no pages, expiry or refusals of single verbs, and brings its client's forty jars.
 */
public final class FakeKubernetes implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final FakeServerState state = new FakeServerState();
  private final @Nullable SSLContext tls;
  private HttpServer server;
  private ExecutorService threads;

  /** A server over plain HTTP. */
  public FakeKubernetes() throws IOException {
    this((SSLContext) null);
  }

  /** A server over HTTPS, with the certificates of a store. */
  public FakeKubernetes(Certificates made) throws Exception {
    this(tls(made));
  }

  private FakeKubernetes(@Nullable SSLContext tls) throws IOException {
    this.tls = tls;
    state.users.put("secret", "system:serviceaccount:kvasir:kvasir");
    for (ApiResource resource : List.of(ApiResource.PODS, ApiResource.SERVICES, ApiResource.EVENTS)) {
      state.resources.put(resource, Definition.of(resource, "{}"));
    }
    threads = Executors.newVirtualThreadPerTaskExecutor();
    server = start(0);
  }

  private static SSLContext tls(Certificates made) throws Exception {
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(made.store(), Certificates.password());
    SSLContext tls = SSLContext.getInstance("TLS");
    tls.init(keys.getKeyManagers(), null, null);
    return tls;
  }

  /** Its address. */
  public URI url() {
    return URI.create((tls == null ? "http" : "https") + "://127.0.0.1:" + server.getAddress().getPort());
  }

  /** A connection to it without TLS, by a token file. */
  public KubernetesConnection connection(Path token) {
    return new KubernetesConnection(url(), token, Path.of(""));
  }

  /** Installs a resource; what breaks its schema is refused with 422. */
  public void install(Definition definition) {
    state.resources.put(definition.resource(), definition);
  }

  /** Takes a resource away, as when its definition is deleted. */
  public void uninstall(ApiResource resource) {
    state.resources.remove(resource);
  }

  /** Makes a token known: whose it is. */
  public void user(String token, String name) {
    state.users.put(token, name);
  }

  /** Takes a token back. */
  public void revoke(String token) {
    state.users.remove(token);
  }

  /** Denies a verb on a resource to everyone, such as {@code list pods}. */
  public void deny(String verb, ApiResource resource) {
    state.denied.add(verb + " " + resource);
  }

  /** The same in one namespace. */
  public void deny(String verb, ApiResource resource, String namespace) {
    state.denied.add(verb + " " + resource + " " + namespace);
  }

  /** Allows it again. */
  public void allow(String verb, ApiResource resource) {
    state.denied.remove(verb + " " + resource);
  }

  /**
   * Creates an object, or replaces all of it but its status; a new one may have a status. It may break the schema, as
   * objects do that are older than it.
   */
  public void put(ApiResource resource, String object) throws Exception {
    Definition definition = Objects.requireNonNull(state.resources.get(resource), "the resource is not installed");
    ObjectNode node = definition.admitted((ObjectNode) JSON.readTree(object));
    ObjectKey key = ObjectKey.of(node);
    if (state.objects.get(resource, key) == null) {
      state.objects.create(resource, key, node);
    } else {
      state.objects.replace(resource, key, node, false);
      if (node.has("status")) {
        state.objects.replace(resource, key, node, true);
      }
    }
  }

  /** Deletes an object. */
  public void delete(ApiResource resource, ObjectKey key) throws Exception {
    state.objects.delete(resource, key);
  }

  /** Deletes an object without notifying the state.watches. */
  public void loseDelete(ApiResource resource, ObjectKey key) {
    state.objects.lose(resource, key);
  }

  /** An object as it is. */
  public JsonNode get(ApiResource resource, ObjectKey key) {
    ObjectNode object = state.objects.get(resource, key);
    return object == null ? JSON.missingNode() : object;
  }

  /** All objects of a resource. */
  public List<ObjectNode> all(ApiResource resource) {
    return state.objects.list(resource, _ -> true).objects();
  }

  /** How many requests there were, such as {@code list pods}. */
  public int requests(String verb, ApiResource resource) {
    AtomicInteger count = state.requests.get(verb + " " + resource);
    return count == null ? 0 : count.get();
  }

  /** How many requests were answered with the error status of {@link #fail}. */
  public int failures() {
    return state.failures.get();
  }

  /** How many watches are open. */
  public int watches() {
    return state.watches.get();
  }

  /** Makes all versions so far too old, and ends all state.watches. */
  public void expire() {
    state.objects.compact();
    state.pages.clear();
    cut();
  }

  /** Makes all versions so far too old; watches go on. */
  public void forgetChanges() {
    state.objects.compact();
  }

  /** Expired versions are told in the stream of a watch, as older servers do, not by its status. */
  public void expireInStream() {
    state.expiresInStream = true;
  }

  /** Sends every watch a bookmark. */
  public void bookmark() {
    state.bookmarks.incrementAndGet();
    state.objects.wake();
  }

  /** Ends every watch. */
  public void cut() {
    state.cuts.incrementAndGet();
    state.objects.wake();
  }

  /** Holds the events of all watches back, as a slow server does. */
  public void hold() {
    state.held = true;
  }

  /** Lets them go. */
  public void release() {
    state.held = false;
    state.objects.wake();
  }

  /** Answers all requests with an error status; 0 for no longer. */
  public void fail(int status) {
    state.failure = status;
    cut();
  }

  /** Refuses connections. */
  public void stop() {
    cut();
    server.stop(0);
    threads.shutdownNow();
  }

  /** Takes connections again, at the same address. */
  public void restart() throws IOException {
    threads = Executors.newVirtualThreadPerTaskExecutor();
    server = start(server.getAddress().getPort());
  }

  @Override
  public void close() {
    stop();
  }

  private HttpServer start(int port) throws IOException {
    InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    HttpServer started;
    if (tls == null) {
      started = HttpServer.create(address, 50);
    } else {
      HttpsServer encrypted = HttpsServer.create(address, 50);
      encrypted.setHttpsConfigurator(new HttpsConfigurator(tls));
      started = encrypted;
    }
    started.setExecutor(threads);
    started.createContext("/", new FakeApi(state));
    started.start();
    return started;
  }
}
