"""What catalog sources are written with: readers of catalog files, and of tools as clients and servers describe them."""

from helmdeck_catalog_kit.files import CatalogWarning as CatalogWarning
from helmdeck_catalog_kit.files import load_catalog_file as load_catalog_file
from helmdeck_catalog_kit.shapes import read_catalog as read_catalog
