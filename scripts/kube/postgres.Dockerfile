# Stands in for the usual image of PostgreSQL where no registry is: Debian's server, with that
# image's user and variables.
FROM toolyard-base
RUN useradd --system --uid 999 --user-group --home-dir /var/lib/postgresql postgres && \
    mkdir -p /etc/postgresql-common && \
    echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf && \
    apt-get update --quiet && \
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends postgresql-15
ENV PATH=/usr/lib/postgresql/15/bin:$PATH LANG=C.UTF-8
COPY postgres-start.sh /usr/local/bin/
USER 999:999
ENTRYPOINT ["/usr/local/bin/postgres-start.sh"]
